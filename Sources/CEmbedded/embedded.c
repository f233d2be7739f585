// Files of the source tree as arrays of bytes (`#embed`, C23 section 6.10.4). Made by scripts/embed.
#include "CEmbedded.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "../../providers/creem/creem.json"
};
static const unsigned char file_1[] = {
#embed "../../providers/creem/samples/checkout.completed.json"
};
static const unsigned char file_2[] = {
#embed "../../providers/creem/samples/checkout.completed.onetime.json"
};
static const unsigned char file_3[] = {
#embed "../../providers/creem/samples/dispute.created.json"
};
static const unsigned char file_4[] = {
#embed "../../providers/creem/samples/refund.created.json"
};
static const unsigned char file_5[] = {
#embed "../../providers/creem/samples/subscription.active.json"
};
static const unsigned char file_6[] = {
#embed "../../providers/creem/samples/subscription.canceled.json"
};
static const unsigned char file_7[] = {
#embed "../../providers/creem/samples/subscription.expired.json"
};
static const unsigned char file_8[] = {
#embed "../../providers/creem/samples/subscription.paid.json"
};
static const unsigned char file_9[] = {
#embed "../../providers/creem/samples/subscription.past_due.json"
};
static const unsigned char file_10[] = {
#embed "../../providers/creem/samples/subscription.paused.json"
};
static const unsigned char file_11[] = {
#embed "../../providers/creem/samples/subscription.scheduled_cancel.json"
};
static const unsigned char file_12[] = {
#embed "../../providers/creem/samples/subscription.trialing.json"
};
static const unsigned char file_13[] = {
#embed "../../providers/creem/samples/subscription.unpaid.json"
};
static const unsigned char file_14[] = {
#embed "../../providers/creem/samples/subscription.update.json"
};
static const unsigned char file_15[] = {
#embed "../../providers/dodo/dodo.json"
};
static const unsigned char file_16[] = {
#embed "../../providers/dodo/samples/dispute.opened.json"
};
static const unsigned char file_17[] = {
#embed "../../providers/dodo/samples/dispute.won.json"
};
static const unsigned char file_18[] = {
#embed "../../providers/dodo/samples/payment.succeeded.json"
};
static const unsigned char file_19[] = {
#embed "../../providers/dodo/samples/refund.succeeded.json"
};
static const unsigned char file_20[] = {
#embed "../../providers/dodo/samples/subscription.active.json"
};
static const unsigned char file_21[] = {
#embed "../../providers/dodo/samples/subscription.active.recovered.json"
};
static const unsigned char file_22[] = {
#embed "../../providers/dodo/samples/subscription.cancelled.json"
};
static const unsigned char file_23[] = {
#embed "../../providers/dodo/samples/subscription.expired.json"
};
static const unsigned char file_24[] = {
#embed "../../providers/dodo/samples/subscription.on_hold.json"
};
static const unsigned char file_25[] = {
#embed "../../providers/dodo/samples/subscription.paused.json"
};
static const unsigned char file_26[] = {
#embed "../../providers/dodo/samples/subscription.renewed.json"
};
static const unsigned char file_27[] = {
#embed "../../providers/dodo/samples/subscription.unpaused.json"
};
static const unsigned char file_28[] = {
#embed "../../providers/dodo/samples/subscription.updated.cancel.json"
};
static const unsigned char file_29[] = {
#embed "../../providers/lemonsqueezy/lemonsqueezy.json"
};
static const unsigned char file_30[] = {
#embed "../../providers/lemonsqueezy/samples/license_key_created.json"
};
static const unsigned char file_31[] = {
#embed "../../providers/lemonsqueezy/samples/order_created.json"
};
static const unsigned char file_32[] = {
#embed "../../providers/lemonsqueezy/samples/order_refunded.json"
};
static const unsigned char file_33[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_cancelled.json"
};
static const unsigned char file_34[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_created.json"
};
static const unsigned char file_35[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_created.on_trial.json"
};
static const unsigned char file_36[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_expired.json"
};
static const unsigned char file_37[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_paused.json"
};
static const unsigned char file_38[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_payment_refunded.json"
};
static const unsigned char file_39[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_payment_success.json"
};
static const unsigned char file_40[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_resumed.json"
};
static const unsigned char file_41[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_unpaused.json"
};
static const unsigned char file_42[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.json"
};
static const unsigned char file_43[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.past_due.json"
};
static const unsigned char file_44[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.recovered.json"
};
static const unsigned char file_45[] = {
#embed "../../providers/paddle/paddle.json"
};
static const unsigned char file_46[] = {
#embed "../../providers/paddle/samples/adjustment.chargeback.json"
};
static const unsigned char file_47[] = {
#embed "../../providers/paddle/samples/adjustment.chargeback_reverse.json"
};
static const unsigned char file_48[] = {
#embed "../../providers/paddle/samples/adjustment.refund.json"
};
static const unsigned char file_49[] = {
#embed "../../providers/paddle/samples/subscription.activated.json"
};
static const unsigned char file_50[] = {
#embed "../../providers/paddle/samples/subscription.canceled.json"
};
static const unsigned char file_51[] = {
#embed "../../providers/paddle/samples/subscription.created.json"
};
static const unsigned char file_52[] = {
#embed "../../providers/paddle/samples/subscription.past_due.json"
};
static const unsigned char file_53[] = {
#embed "../../providers/paddle/samples/subscription.paused.json"
};
static const unsigned char file_54[] = {
#embed "../../providers/paddle/samples/subscription.resumed.json"
};
static const unsigned char file_55[] = {
#embed "../../providers/paddle/samples/subscription.trialing.json"
};
static const unsigned char file_56[] = {
#embed "../../providers/paddle/samples/subscription.updated.cancel.json"
};
static const unsigned char file_57[] = {
#embed "../../providers/paddle/samples/subscription.updated.json"
};
static const unsigned char file_58[] = {
#embed "../../providers/paddle/samples/transaction.completed.json"
};
static const unsigned char file_59[] = {
#embed "../../providers/polar/polar.json"
};
static const unsigned char file_60[] = {
#embed "../../providers/polar/samples/customer.state_changed.json"
};
static const unsigned char file_61[] = {
#embed "../../providers/polar/samples/order.paid.json"
};
static const unsigned char file_62[] = {
#embed "../../providers/polar/samples/order.refunded.json"
};
static const unsigned char file_63[] = {
#embed "../../providers/polar/samples/subscription.active.json"
};
static const unsigned char file_64[] = {
#embed "../../providers/polar/samples/subscription.active.recovered.json"
};
static const unsigned char file_65[] = {
#embed "../../providers/polar/samples/subscription.canceled.json"
};
static const unsigned char file_66[] = {
#embed "../../providers/polar/samples/subscription.created.json"
};
static const unsigned char file_67[] = {
#embed "../../providers/polar/samples/subscription.created.trialing.json"
};
static const unsigned char file_68[] = {
#embed "../../providers/polar/samples/subscription.cycled.json"
};
static const unsigned char file_69[] = {
#embed "../../providers/polar/samples/subscription.past_due.json"
};
static const unsigned char file_70[] = {
#embed "../../providers/polar/samples/subscription.paused.json"
};
static const unsigned char file_71[] = {
#embed "../../providers/polar/samples/subscription.resumed.json"
};
static const unsigned char file_72[] = {
#embed "../../providers/polar/samples/subscription.revoked.json"
};
static const unsigned char file_73[] = {
#embed "../../providers/polar/samples/subscription.uncanceled.json"
};
static const unsigned char file_74[] = {
#embed "../../providers/polar/samples/subscription.updated.json"
};
static const unsigned char file_75[] = {
#embed "../../providers/revenuecat/samples/billing_issue.json"
};
static const unsigned char file_76[] = {
#embed "../../providers/revenuecat/samples/cancellation.json"
};
static const unsigned char file_77[] = {
#embed "../../providers/revenuecat/samples/expiration.json"
};
static const unsigned char file_78[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.json"
};
static const unsigned char file_79[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.trial.json"
};
static const unsigned char file_80[] = {
#embed "../../providers/revenuecat/samples/non_renewing_purchase.json"
};
static const unsigned char file_81[] = {
#embed "../../providers/revenuecat/samples/product_change.json"
};
static const unsigned char file_82[] = {
#embed "../../providers/revenuecat/samples/refund.json"
};
static const unsigned char file_83[] = {
#embed "../../providers/revenuecat/samples/refund_reversed.json"
};
static const unsigned char file_84[] = {
#embed "../../providers/revenuecat/samples/renewal.json"
};
static const unsigned char file_85[] = {
#embed "../../providers/revenuecat/samples/subscription_extended.json"
};
static const unsigned char file_86[] = {
#embed "../../providers/revenuecat/samples/subscription_paused.json"
};
static const unsigned char file_87[] = {
#embed "../../providers/revenuecat/samples/temporary_entitlement_grant.json"
};
static const unsigned char file_88[] = {
#embed "../../providers/revenuecat/samples/test.json"
};
static const unsigned char file_89[] = {
#embed "../../providers/revenuecat/samples/transfer.json"
};
static const unsigned char file_90[] = {
#embed "../../providers/revenuecat/samples/uncancellation.json"
};
static const unsigned char file_91[] = {
#embed "../../providers/stripe/samples/charge.dispute.closed.json"
};
static const unsigned char file_92[] = {
#embed "../../providers/stripe/samples/charge.dispute.created.json"
};
static const unsigned char file_93[] = {
#embed "../../providers/stripe/samples/charge.refunded.json"
};
static const unsigned char file_94[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.json"
};
static const unsigned char file_95[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.payment.json"
};
static const unsigned char file_96[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.json"
};
static const unsigned char file_97[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.trialing.json"
};
static const unsigned char file_98[] = {
#embed "../../providers/stripe/samples/customer.subscription.deleted.json"
};
static const unsigned char file_99[] = {
#embed "../../providers/stripe/samples/customer.subscription.paused.json"
};
static const unsigned char file_100[] = {
#embed "../../providers/stripe/samples/customer.subscription.resumed.json"
};
static const unsigned char file_101[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.cancel.json"
};
static const unsigned char file_102[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.json"
};
static const unsigned char file_103[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.old_shape.json"
};
static const unsigned char file_104[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.past_due.json"
};
static const unsigned char file_105[] = {
#embed "../../providers/stripe/samples/invoice.paid.json"
};
static const unsigned char file_106[] = {
#embed "../../providers/stripe/samples/invoice_payment.paid.json"
};
static const unsigned char file_107[] = {
#embed "../../providers/stripe/samples/refund.failed.json"
};
static const unsigned char file_108[] = {
#embed "../../providers/stripe/stripe.json"
};
static const unsigned char file_109[] = {
#embed "../../schema/sqlite/0001_initial.sql"
};
static const unsigned char file_110[] = {
#embed "../../schema/sqlite/0002_link_since.sql"
};
static const unsigned char file_111[] = {
#embed "../../schema/sqlite/0003_mentions.sql"
};
static const unsigned char file_112[] = {
#embed "../../schema/sqlite/0004_licenses.sql"
};

static const struct embedded_file files[] = {
    {"providers/creem/creem.json", file_0, sizeof file_0},
    {"providers/creem/samples/checkout.completed.json", file_1, sizeof file_1},
    {"providers/creem/samples/checkout.completed.onetime.json", file_2, sizeof file_2},
    {"providers/creem/samples/dispute.created.json", file_3, sizeof file_3},
    {"providers/creem/samples/refund.created.json", file_4, sizeof file_4},
    {"providers/creem/samples/subscription.active.json", file_5, sizeof file_5},
    {"providers/creem/samples/subscription.canceled.json", file_6, sizeof file_6},
    {"providers/creem/samples/subscription.expired.json", file_7, sizeof file_7},
    {"providers/creem/samples/subscription.paid.json", file_8, sizeof file_8},
    {"providers/creem/samples/subscription.past_due.json", file_9, sizeof file_9},
    {"providers/creem/samples/subscription.paused.json", file_10, sizeof file_10},
    {"providers/creem/samples/subscription.scheduled_cancel.json", file_11, sizeof file_11},
    {"providers/creem/samples/subscription.trialing.json", file_12, sizeof file_12},
    {"providers/creem/samples/subscription.unpaid.json", file_13, sizeof file_13},
    {"providers/creem/samples/subscription.update.json", file_14, sizeof file_14},
    {"providers/dodo/dodo.json", file_15, sizeof file_15},
    {"providers/dodo/samples/dispute.opened.json", file_16, sizeof file_16},
    {"providers/dodo/samples/dispute.won.json", file_17, sizeof file_17},
    {"providers/dodo/samples/payment.succeeded.json", file_18, sizeof file_18},
    {"providers/dodo/samples/refund.succeeded.json", file_19, sizeof file_19},
    {"providers/dodo/samples/subscription.active.json", file_20, sizeof file_20},
    {"providers/dodo/samples/subscription.active.recovered.json", file_21, sizeof file_21},
    {"providers/dodo/samples/subscription.cancelled.json", file_22, sizeof file_22},
    {"providers/dodo/samples/subscription.expired.json", file_23, sizeof file_23},
    {"providers/dodo/samples/subscription.on_hold.json", file_24, sizeof file_24},
    {"providers/dodo/samples/subscription.paused.json", file_25, sizeof file_25},
    {"providers/dodo/samples/subscription.renewed.json", file_26, sizeof file_26},
    {"providers/dodo/samples/subscription.unpaused.json", file_27, sizeof file_27},
    {"providers/dodo/samples/subscription.updated.cancel.json", file_28, sizeof file_28},
    {"providers/lemonsqueezy/lemonsqueezy.json", file_29, sizeof file_29},
    {"providers/lemonsqueezy/samples/license_key_created.json", file_30, sizeof file_30},
    {"providers/lemonsqueezy/samples/order_created.json", file_31, sizeof file_31},
    {"providers/lemonsqueezy/samples/order_refunded.json", file_32, sizeof file_32},
    {"providers/lemonsqueezy/samples/subscription_cancelled.json", file_33, sizeof file_33},
    {"providers/lemonsqueezy/samples/subscription_created.json", file_34, sizeof file_34},
    {"providers/lemonsqueezy/samples/subscription_created.on_trial.json", file_35, sizeof file_35},
    {"providers/lemonsqueezy/samples/subscription_expired.json", file_36, sizeof file_36},
    {"providers/lemonsqueezy/samples/subscription_paused.json", file_37, sizeof file_37},
    {"providers/lemonsqueezy/samples/subscription_payment_refunded.json", file_38, sizeof file_38},
    {"providers/lemonsqueezy/samples/subscription_payment_success.json", file_39, sizeof file_39},
    {"providers/lemonsqueezy/samples/subscription_resumed.json", file_40, sizeof file_40},
    {"providers/lemonsqueezy/samples/subscription_unpaused.json", file_41, sizeof file_41},
    {"providers/lemonsqueezy/samples/subscription_updated.json", file_42, sizeof file_42},
    {"providers/lemonsqueezy/samples/subscription_updated.past_due.json", file_43, sizeof file_43},
    {"providers/lemonsqueezy/samples/subscription_updated.recovered.json", file_44, sizeof file_44},
    {"providers/paddle/paddle.json", file_45, sizeof file_45},
    {"providers/paddle/samples/adjustment.chargeback.json", file_46, sizeof file_46},
    {"providers/paddle/samples/adjustment.chargeback_reverse.json", file_47, sizeof file_47},
    {"providers/paddle/samples/adjustment.refund.json", file_48, sizeof file_48},
    {"providers/paddle/samples/subscription.activated.json", file_49, sizeof file_49},
    {"providers/paddle/samples/subscription.canceled.json", file_50, sizeof file_50},
    {"providers/paddle/samples/subscription.created.json", file_51, sizeof file_51},
    {"providers/paddle/samples/subscription.past_due.json", file_52, sizeof file_52},
    {"providers/paddle/samples/subscription.paused.json", file_53, sizeof file_53},
    {"providers/paddle/samples/subscription.resumed.json", file_54, sizeof file_54},
    {"providers/paddle/samples/subscription.trialing.json", file_55, sizeof file_55},
    {"providers/paddle/samples/subscription.updated.cancel.json", file_56, sizeof file_56},
    {"providers/paddle/samples/subscription.updated.json", file_57, sizeof file_57},
    {"providers/paddle/samples/transaction.completed.json", file_58, sizeof file_58},
    {"providers/polar/polar.json", file_59, sizeof file_59},
    {"providers/polar/samples/customer.state_changed.json", file_60, sizeof file_60},
    {"providers/polar/samples/order.paid.json", file_61, sizeof file_61},
    {"providers/polar/samples/order.refunded.json", file_62, sizeof file_62},
    {"providers/polar/samples/subscription.active.json", file_63, sizeof file_63},
    {"providers/polar/samples/subscription.active.recovered.json", file_64, sizeof file_64},
    {"providers/polar/samples/subscription.canceled.json", file_65, sizeof file_65},
    {"providers/polar/samples/subscription.created.json", file_66, sizeof file_66},
    {"providers/polar/samples/subscription.created.trialing.json", file_67, sizeof file_67},
    {"providers/polar/samples/subscription.cycled.json", file_68, sizeof file_68},
    {"providers/polar/samples/subscription.past_due.json", file_69, sizeof file_69},
    {"providers/polar/samples/subscription.paused.json", file_70, sizeof file_70},
    {"providers/polar/samples/subscription.resumed.json", file_71, sizeof file_71},
    {"providers/polar/samples/subscription.revoked.json", file_72, sizeof file_72},
    {"providers/polar/samples/subscription.uncanceled.json", file_73, sizeof file_73},
    {"providers/polar/samples/subscription.updated.json", file_74, sizeof file_74},
    {"providers/revenuecat/samples/billing_issue.json", file_75, sizeof file_75},
    {"providers/revenuecat/samples/cancellation.json", file_76, sizeof file_76},
    {"providers/revenuecat/samples/expiration.json", file_77, sizeof file_77},
    {"providers/revenuecat/samples/initial_purchase.json", file_78, sizeof file_78},
    {"providers/revenuecat/samples/initial_purchase.trial.json", file_79, sizeof file_79},
    {"providers/revenuecat/samples/non_renewing_purchase.json", file_80, sizeof file_80},
    {"providers/revenuecat/samples/product_change.json", file_81, sizeof file_81},
    {"providers/revenuecat/samples/refund.json", file_82, sizeof file_82},
    {"providers/revenuecat/samples/refund_reversed.json", file_83, sizeof file_83},
    {"providers/revenuecat/samples/renewal.json", file_84, sizeof file_84},
    {"providers/revenuecat/samples/subscription_extended.json", file_85, sizeof file_85},
    {"providers/revenuecat/samples/subscription_paused.json", file_86, sizeof file_86},
    {"providers/revenuecat/samples/temporary_entitlement_grant.json", file_87, sizeof file_87},
    {"providers/revenuecat/samples/test.json", file_88, sizeof file_88},
    {"providers/revenuecat/samples/transfer.json", file_89, sizeof file_89},
    {"providers/revenuecat/samples/uncancellation.json", file_90, sizeof file_90},
    {"providers/stripe/samples/charge.dispute.closed.json", file_91, sizeof file_91},
    {"providers/stripe/samples/charge.dispute.created.json", file_92, sizeof file_92},
    {"providers/stripe/samples/charge.refunded.json", file_93, sizeof file_93},
    {"providers/stripe/samples/checkout.session.completed.json", file_94, sizeof file_94},
    {"providers/stripe/samples/checkout.session.completed.payment.json", file_95, sizeof file_95},
    {"providers/stripe/samples/customer.subscription.created.json", file_96, sizeof file_96},
    {"providers/stripe/samples/customer.subscription.created.trialing.json", file_97, sizeof file_97},
    {"providers/stripe/samples/customer.subscription.deleted.json", file_98, sizeof file_98},
    {"providers/stripe/samples/customer.subscription.paused.json", file_99, sizeof file_99},
    {"providers/stripe/samples/customer.subscription.resumed.json", file_100, sizeof file_100},
    {"providers/stripe/samples/customer.subscription.updated.cancel.json", file_101, sizeof file_101},
    {"providers/stripe/samples/customer.subscription.updated.json", file_102, sizeof file_102},
    {"providers/stripe/samples/customer.subscription.updated.old_shape.json", file_103, sizeof file_103},
    {"providers/stripe/samples/customer.subscription.updated.past_due.json", file_104, sizeof file_104},
    {"providers/stripe/samples/invoice.paid.json", file_105, sizeof file_105},
    {"providers/stripe/samples/invoice_payment.paid.json", file_106, sizeof file_106},
    {"providers/stripe/samples/refund.failed.json", file_107, sizeof file_107},
    {"providers/stripe/stripe.json", file_108, sizeof file_108},
    {"schema/sqlite/0001_initial.sql", file_109, sizeof file_109},
    {"schema/sqlite/0002_link_since.sql", file_110, sizeof file_110},
    {"schema/sqlite/0003_mentions.sql", file_111, sizeof file_111},
    {"schema/sqlite/0004_licenses.sql", file_112, sizeof file_112},
};

size_t embedded_file_count(void) { return sizeof files / sizeof files[0]; }

struct embedded_file embedded_file_at(size_t index) { return files[index]; }
