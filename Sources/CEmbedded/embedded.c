// Files of the source tree as arrays of bytes (`#embed`, C23 section 6.10.4).
// A test compares this list with the folders, so that no file is forgotten.
#include "CEmbedded.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "../../schema/sqlite/0001_initial.sql"
};
static const unsigned char file_1[] = {
#embed "../../providers/creem/creem.json"
};
static const unsigned char file_2[] = {
#embed "../../providers/stripe/stripe.json"
};
static const unsigned char file_3[] = {
#embed "../../providers/creem/samples/checkout.completed.json"
};
static const unsigned char file_4[] = {
#embed "../../providers/creem/samples/checkout.completed.onetime.json"
};
static const unsigned char file_5[] = {
#embed "../../providers/creem/samples/dispute.created.json"
};
static const unsigned char file_6[] = {
#embed "../../providers/creem/samples/refund.created.json"
};
static const unsigned char file_7[] = {
#embed "../../providers/creem/samples/subscription.active.json"
};
static const unsigned char file_8[] = {
#embed "../../providers/creem/samples/subscription.canceled.json"
};
static const unsigned char file_9[] = {
#embed "../../providers/creem/samples/subscription.expired.json"
};
static const unsigned char file_10[] = {
#embed "../../providers/creem/samples/subscription.paid.json"
};
static const unsigned char file_11[] = {
#embed "../../providers/creem/samples/subscription.past_due.json"
};
static const unsigned char file_12[] = {
#embed "../../providers/creem/samples/subscription.paused.json"
};
static const unsigned char file_13[] = {
#embed "../../providers/creem/samples/subscription.scheduled_cancel.json"
};
static const unsigned char file_14[] = {
#embed "../../providers/creem/samples/subscription.trialing.json"
};
static const unsigned char file_15[] = {
#embed "../../providers/creem/samples/subscription.unpaid.json"
};
static const unsigned char file_16[] = {
#embed "../../providers/creem/samples/subscription.update.json"
};
static const unsigned char file_17[] = {
#embed "../../providers/revenuecat/samples/billing_issue.json"
};
static const unsigned char file_18[] = {
#embed "../../providers/revenuecat/samples/cancellation.json"
};
static const unsigned char file_19[] = {
#embed "../../providers/revenuecat/samples/expiration.json"
};
static const unsigned char file_20[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.json"
};
static const unsigned char file_21[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.trial.json"
};
static const unsigned char file_22[] = {
#embed "../../providers/revenuecat/samples/non_renewing_purchase.json"
};
static const unsigned char file_23[] = {
#embed "../../providers/revenuecat/samples/product_change.json"
};
static const unsigned char file_24[] = {
#embed "../../providers/revenuecat/samples/refund.json"
};
static const unsigned char file_25[] = {
#embed "../../providers/revenuecat/samples/refund_reversed.json"
};
static const unsigned char file_26[] = {
#embed "../../providers/revenuecat/samples/renewal.json"
};
static const unsigned char file_27[] = {
#embed "../../providers/revenuecat/samples/subscription_extended.json"
};
static const unsigned char file_28[] = {
#embed "../../providers/revenuecat/samples/subscription_paused.json"
};
static const unsigned char file_29[] = {
#embed "../../providers/revenuecat/samples/temporary_entitlement_grant.json"
};
static const unsigned char file_30[] = {
#embed "../../providers/revenuecat/samples/test.json"
};
static const unsigned char file_31[] = {
#embed "../../providers/revenuecat/samples/transfer.json"
};
static const unsigned char file_32[] = {
#embed "../../providers/revenuecat/samples/uncancellation.json"
};
static const unsigned char file_33[] = {
#embed "../../providers/stripe/samples/charge.dispute.closed.json"
};
static const unsigned char file_34[] = {
#embed "../../providers/stripe/samples/charge.dispute.created.json"
};
static const unsigned char file_35[] = {
#embed "../../providers/stripe/samples/charge.refunded.json"
};
static const unsigned char file_36[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.json"
};
static const unsigned char file_37[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.payment.json"
};
static const unsigned char file_38[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.json"
};
static const unsigned char file_39[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.trialing.json"
};
static const unsigned char file_40[] = {
#embed "../../providers/stripe/samples/customer.subscription.deleted.json"
};
static const unsigned char file_41[] = {
#embed "../../providers/stripe/samples/customer.subscription.paused.json"
};
static const unsigned char file_42[] = {
#embed "../../providers/stripe/samples/customer.subscription.resumed.json"
};
static const unsigned char file_43[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.cancel.json"
};
static const unsigned char file_44[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.json"
};
static const unsigned char file_45[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.old_shape.json"
};
static const unsigned char file_46[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.past_due.json"
};
static const unsigned char file_47[] = {
#embed "../../providers/stripe/samples/invoice.paid.json"
};
static const unsigned char file_48[] = {
#embed "../../providers/stripe/samples/invoice_payment.paid.json"
};
static const unsigned char file_49[] = {
#embed "../../providers/stripe/samples/refund.failed.json"
};

static const struct embedded_file files[] = {
    {"schema/sqlite/0001_initial.sql", file_0, sizeof file_0},
    {"providers/creem/creem.json", file_1, sizeof file_1},
    {"providers/stripe/stripe.json", file_2, sizeof file_2},
    {"providers/creem/samples/checkout.completed.json", file_3, sizeof file_3},
    {"providers/creem/samples/checkout.completed.onetime.json", file_4, sizeof file_4},
    {"providers/creem/samples/dispute.created.json", file_5, sizeof file_5},
    {"providers/creem/samples/refund.created.json", file_6, sizeof file_6},
    {"providers/creem/samples/subscription.active.json", file_7, sizeof file_7},
    {"providers/creem/samples/subscription.canceled.json", file_8, sizeof file_8},
    {"providers/creem/samples/subscription.expired.json", file_9, sizeof file_9},
    {"providers/creem/samples/subscription.paid.json", file_10, sizeof file_10},
    {"providers/creem/samples/subscription.past_due.json", file_11, sizeof file_11},
    {"providers/creem/samples/subscription.paused.json", file_12, sizeof file_12},
    {"providers/creem/samples/subscription.scheduled_cancel.json", file_13, sizeof file_13},
    {"providers/creem/samples/subscription.trialing.json", file_14, sizeof file_14},
    {"providers/creem/samples/subscription.unpaid.json", file_15, sizeof file_15},
    {"providers/creem/samples/subscription.update.json", file_16, sizeof file_16},
    {"providers/revenuecat/samples/billing_issue.json", file_17, sizeof file_17},
    {"providers/revenuecat/samples/cancellation.json", file_18, sizeof file_18},
    {"providers/revenuecat/samples/expiration.json", file_19, sizeof file_19},
    {"providers/revenuecat/samples/initial_purchase.json", file_20, sizeof file_20},
    {"providers/revenuecat/samples/initial_purchase.trial.json", file_21, sizeof file_21},
    {"providers/revenuecat/samples/non_renewing_purchase.json", file_22, sizeof file_22},
    {"providers/revenuecat/samples/product_change.json", file_23, sizeof file_23},
    {"providers/revenuecat/samples/refund.json", file_24, sizeof file_24},
    {"providers/revenuecat/samples/refund_reversed.json", file_25, sizeof file_25},
    {"providers/revenuecat/samples/renewal.json", file_26, sizeof file_26},
    {"providers/revenuecat/samples/subscription_extended.json", file_27, sizeof file_27},
    {"providers/revenuecat/samples/subscription_paused.json", file_28, sizeof file_28},
    {"providers/revenuecat/samples/temporary_entitlement_grant.json", file_29, sizeof file_29},
    {"providers/revenuecat/samples/test.json", file_30, sizeof file_30},
    {"providers/revenuecat/samples/transfer.json", file_31, sizeof file_31},
    {"providers/revenuecat/samples/uncancellation.json", file_32, sizeof file_32},
    {"providers/stripe/samples/charge.dispute.closed.json", file_33, sizeof file_33},
    {"providers/stripe/samples/charge.dispute.created.json", file_34, sizeof file_34},
    {"providers/stripe/samples/charge.refunded.json", file_35, sizeof file_35},
    {"providers/stripe/samples/checkout.session.completed.json", file_36, sizeof file_36},
    {"providers/stripe/samples/checkout.session.completed.payment.json", file_37, sizeof file_37},
    {"providers/stripe/samples/customer.subscription.created.json", file_38, sizeof file_38},
    {"providers/stripe/samples/customer.subscription.created.trialing.json", file_39, sizeof file_39},
    {"providers/stripe/samples/customer.subscription.deleted.json", file_40, sizeof file_40},
    {"providers/stripe/samples/customer.subscription.paused.json", file_41, sizeof file_41},
    {"providers/stripe/samples/customer.subscription.resumed.json", file_42, sizeof file_42},
    {"providers/stripe/samples/customer.subscription.updated.cancel.json", file_43, sizeof file_43},
    {"providers/stripe/samples/customer.subscription.updated.json", file_44, sizeof file_44},
    {"providers/stripe/samples/customer.subscription.updated.old_shape.json", file_45, sizeof file_45},
    {"providers/stripe/samples/customer.subscription.updated.past_due.json", file_46, sizeof file_46},
    {"providers/stripe/samples/invoice.paid.json", file_47, sizeof file_47},
    {"providers/stripe/samples/invoice_payment.paid.json", file_48, sizeof file_48},
    {"providers/stripe/samples/refund.failed.json", file_49, sizeof file_49},
};

size_t embedded_file_count(void) { return sizeof files / sizeof files[0]; }

struct embedded_file embedded_file_at(size_t index) { return files[index]; }
