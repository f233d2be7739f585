/// What `wrk` is told to send, in its own language.
enum LoadScript {
    /// Reads of users drawn from all of them: uniformly, or by Zipf(1), where the k-th of the favourites is asked for 1/k
    /// times as often as the first.
    static let reads = """
        local head = " HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer "
        local format, floor, exp, random = string.format, math.floor, math.exp, math.random
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("seed", threads)
        end
        function init(arguments)
            users, isZipf = tonumber(arguments[1]), arguments[2] == "zipf"
            logarithm = math.log(users + 1)
            head = head .. arguments[3] .. "\\r\\n\\r\\n"
            math.randomseed(seed * 7919 + tonumber(arguments[4]))
        end
        function request()
            local index
            if isZipf then
                index = floor(exp(random() * logarithm)) - 1
                if index >= users then index = users - 1 end
                -- Favourites do not lie side by side.
                index = (index * 7368787) % users
            else
                index = random(0, users - 1)
            end
            local first = index * 2654435761 % 4294967296
            return "GET /v1/users/" .. format("%08x-0000-4000-8000-%012x", first, index) .. "/entitlement" .. head
        end

        """ + summary

    /// Reads of all users, one after the other, twenty at once: so that each was asked for once before anything is counted.
    static let everyone = """
        local format, concat = string.format, table.concat
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("seed", threads)
        end
        function init(arguments)
            users = tonumber(arguments[1])
            head = "/entitlement HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer " .. arguments[2] .. "\\r\\n\\r\\n"
            -- Each thread begins in another half.
            index = (seed - 1) * math.floor(users / 2)
        end
        function request()
            local requests = {}
            for place = 1, 20 do
                local first = index * 2654435761 % 4294967296
                requests[place] = "GET /v1/users/" .. format("%08x-0000-4000-8000-%012x", first, index) .. head
                index = (index + 1) % users
            end
            return concat(requests)
        end

        """ + summary

    /// Queries for so many users at once, drawn uniformly. Prepared before, and sent in turns: to write a thousand ids takes the
    /// script longer than an answer does.
    static let batches = """
        local format, concat = string.format, table.concat
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("seed", threads)
        end
        function init(arguments)
            local users, size = tonumber(arguments[1]), tonumber(arguments[2])
            math.randomseed(seed * 7919 + tonumber(arguments[4]))
            requests, place = {}, 0
            for number = 1, 64 do
                local ids = {}
                for position = 1, size do
                    local index = math.random(0, users - 1)
                    local first = index * 2654435761 % 4294967296
                    ids[position] = format('"%08x-0000-4000-8000-%012x"', first, index)
                end
                local body = '{"user_ids":[' .. concat(ids, ',') .. ']}'
                requests[number] = "POST /v1/entitlements/query HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer "
                    .. arguments[3] .. "\\r\\nContent-Type: application/json\\r\\nContent-Length: " .. #body .. "\\r\\n\\r\\n" .. body
            end
        end
        function request()
            place = place % 64 + 1
            return requests[place]
        end

        """ + summary

    /// One request again and again, with a body.
    static let posts = """
        function init(arguments)
            path, body = arguments[1], arguments[2]
        end
        function request()
            return "POST " .. path .. " HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: "
                .. #body .. "\\r\\n\\r\\n" .. body
        end

        """ + summary

    /// Prepared deliveries, each sent once; a line is the signature, a space, and the body.
    static let deliveries = """
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("number", threads)
        end
        function init(arguments)
            file = assert(io.open(arguments[1] .. "." .. number, "r"))
            path = arguments[2]
        end
        function request()
            local line = file:read("*l")
            if line == nil then
                -- All are sent: what comes now is counted as an error, and the run says so.
                return "GET /nothing-left HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
            end
            local body = line:sub(66)
            return "POST " .. path .. " HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\ncreem-signature: "
                .. line:sub(1, 64) .. "\\r\\nContent-Length: " .. #body .. "\\r\\n\\r\\n" .. body
        end

        """ + summary

    /// One line that a program can read.
    private static let summary = """
        function done(summary, latency, requests)
            local errors = summary.errors
            io.write(string.format("figures %d %d %d %d %d\\n", summary.requests, summary.duration,
                latency:percentile(50), latency:percentile(99),
                errors.connect + errors.read + errors.write + errors.status + errors.timeout))
        end
        """
}
