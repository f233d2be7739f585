// Files of the source tree as arrays of bytes (`#embed`, C23 section 6.10.4). Made by scripts/embed.
#include "CEmbedded.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "../../providers/app_store/AppleRootCA-G3.cer"
};
static const unsigned char file_1[] = {
#embed "../../providers/app_store/samples/billing_recovery.json"
};
static const unsigned char file_2[] = {
#embed "../../providers/app_store/samples/billing_retry.json"
};
static const unsigned char file_3[] = {
#embed "../../providers/app_store/samples/consumable.json"
};
static const unsigned char file_4[] = {
#embed "../../providers/app_store/samples/downgrade.json"
};
static const unsigned char file_5[] = {
#embed "../../providers/app_store/samples/expired.json"
};
static const unsigned char file_6[] = {
#embed "../../providers/app_store/samples/grace_period.json"
};
static const unsigned char file_7[] = {
#embed "../../providers/app_store/samples/grace_period_expired.json"
};
static const unsigned char file_8[] = {
#embed "../../providers/app_store/samples/initial_buy.json"
};
static const unsigned char file_9[] = {
#embed "../../providers/app_store/samples/lifetime.json"
};
static const unsigned char file_10[] = {
#embed "../../providers/app_store/samples/refund.json"
};
static const unsigned char file_11[] = {
#embed "../../providers/app_store/samples/refund_reversed.json"
};
static const unsigned char file_12[] = {
#embed "../../providers/app_store/samples/renewal.json"
};
static const unsigned char file_13[] = {
#embed "../../providers/app_store/samples/renewal_extended.json"
};
static const unsigned char file_14[] = {
#embed "../../providers/app_store/samples/renewal_off.json"
};
static const unsigned char file_15[] = {
#embed "../../providers/app_store/samples/renewal_on.json"
};
static const unsigned char file_16[] = {
#embed "../../providers/app_store/samples/resubscribe.json"
};
static const unsigned char file_17[] = {
#embed "../../providers/app_store/samples/revoke.json"
};
static const unsigned char file_18[] = {
#embed "../../providers/app_store/samples/test.json"
};
static const unsigned char file_19[] = {
#embed "../../providers/app_store/samples/trial.json"
};
static const unsigned char file_20[] = {
#embed "../../providers/app_store/samples/upgrade.json"
};
static const unsigned char file_21[] = {
#embed "../../providers/creem/creem.json"
};
static const unsigned char file_22[] = {
#embed "../../providers/creem/samples/checkout.completed.json"
};
static const unsigned char file_23[] = {
#embed "../../providers/creem/samples/checkout.completed.onetime.json"
};
static const unsigned char file_24[] = {
#embed "../../providers/creem/samples/dispute.created.json"
};
static const unsigned char file_25[] = {
#embed "../../providers/creem/samples/refund.created.json"
};
static const unsigned char file_26[] = {
#embed "../../providers/creem/samples/subscription.active.json"
};
static const unsigned char file_27[] = {
#embed "../../providers/creem/samples/subscription.canceled.json"
};
static const unsigned char file_28[] = {
#embed "../../providers/creem/samples/subscription.expired.json"
};
static const unsigned char file_29[] = {
#embed "../../providers/creem/samples/subscription.paid.json"
};
static const unsigned char file_30[] = {
#embed "../../providers/creem/samples/subscription.past_due.json"
};
static const unsigned char file_31[] = {
#embed "../../providers/creem/samples/subscription.paused.json"
};
static const unsigned char file_32[] = {
#embed "../../providers/creem/samples/subscription.scheduled_cancel.json"
};
static const unsigned char file_33[] = {
#embed "../../providers/creem/samples/subscription.trialing.json"
};
static const unsigned char file_34[] = {
#embed "../../providers/creem/samples/subscription.unpaid.json"
};
static const unsigned char file_35[] = {
#embed "../../providers/creem/samples/subscription.update.json"
};
static const unsigned char file_36[] = {
#embed "../../providers/dodo/dodo.json"
};
static const unsigned char file_37[] = {
#embed "../../providers/dodo/samples/dispute.opened.json"
};
static const unsigned char file_38[] = {
#embed "../../providers/dodo/samples/dispute.won.json"
};
static const unsigned char file_39[] = {
#embed "../../providers/dodo/samples/payment.succeeded.json"
};
static const unsigned char file_40[] = {
#embed "../../providers/dodo/samples/refund.succeeded.json"
};
static const unsigned char file_41[] = {
#embed "../../providers/dodo/samples/subscription.active.json"
};
static const unsigned char file_42[] = {
#embed "../../providers/dodo/samples/subscription.active.recovered.json"
};
static const unsigned char file_43[] = {
#embed "../../providers/dodo/samples/subscription.cancelled.json"
};
static const unsigned char file_44[] = {
#embed "../../providers/dodo/samples/subscription.expired.json"
};
static const unsigned char file_45[] = {
#embed "../../providers/dodo/samples/subscription.on_hold.json"
};
static const unsigned char file_46[] = {
#embed "../../providers/dodo/samples/subscription.paused.json"
};
static const unsigned char file_47[] = {
#embed "../../providers/dodo/samples/subscription.renewed.json"
};
static const unsigned char file_48[] = {
#embed "../../providers/dodo/samples/subscription.unpaused.json"
};
static const unsigned char file_49[] = {
#embed "../../providers/dodo/samples/subscription.updated.cancel.json"
};
static const unsigned char file_50[] = {
#embed "../../providers/lemonsqueezy/lemonsqueezy.json"
};
static const unsigned char file_51[] = {
#embed "../../providers/lemonsqueezy/samples/license_key_created.json"
};
static const unsigned char file_52[] = {
#embed "../../providers/lemonsqueezy/samples/order_created.json"
};
static const unsigned char file_53[] = {
#embed "../../providers/lemonsqueezy/samples/order_refunded.json"
};
static const unsigned char file_54[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_cancelled.json"
};
static const unsigned char file_55[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_created.json"
};
static const unsigned char file_56[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_created.on_trial.json"
};
static const unsigned char file_57[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_expired.json"
};
static const unsigned char file_58[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_paused.json"
};
static const unsigned char file_59[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_payment_refunded.json"
};
static const unsigned char file_60[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_payment_success.json"
};
static const unsigned char file_61[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_resumed.json"
};
static const unsigned char file_62[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_unpaused.json"
};
static const unsigned char file_63[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.json"
};
static const unsigned char file_64[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.past_due.json"
};
static const unsigned char file_65[] = {
#embed "../../providers/lemonsqueezy/samples/subscription_updated.recovered.json"
};
static const unsigned char file_66[] = {
#embed "../../providers/paddle/paddle.json"
};
static const unsigned char file_67[] = {
#embed "../../providers/paddle/samples/adjustment.chargeback.json"
};
static const unsigned char file_68[] = {
#embed "../../providers/paddle/samples/adjustment.chargeback_reverse.json"
};
static const unsigned char file_69[] = {
#embed "../../providers/paddle/samples/adjustment.refund.json"
};
static const unsigned char file_70[] = {
#embed "../../providers/paddle/samples/subscription.activated.json"
};
static const unsigned char file_71[] = {
#embed "../../providers/paddle/samples/subscription.canceled.json"
};
static const unsigned char file_72[] = {
#embed "../../providers/paddle/samples/subscription.created.json"
};
static const unsigned char file_73[] = {
#embed "../../providers/paddle/samples/subscription.past_due.json"
};
static const unsigned char file_74[] = {
#embed "../../providers/paddle/samples/subscription.paused.json"
};
static const unsigned char file_75[] = {
#embed "../../providers/paddle/samples/subscription.resumed.json"
};
static const unsigned char file_76[] = {
#embed "../../providers/paddle/samples/subscription.trialing.json"
};
static const unsigned char file_77[] = {
#embed "../../providers/paddle/samples/subscription.updated.cancel.json"
};
static const unsigned char file_78[] = {
#embed "../../providers/paddle/samples/subscription.updated.json"
};
static const unsigned char file_79[] = {
#embed "../../providers/paddle/samples/transaction.completed.json"
};
static const unsigned char file_80[] = {
#embed "../../providers/polar/polar.json"
};
static const unsigned char file_81[] = {
#embed "../../providers/polar/samples/customer.state_changed.json"
};
static const unsigned char file_82[] = {
#embed "../../providers/polar/samples/order.paid.json"
};
static const unsigned char file_83[] = {
#embed "../../providers/polar/samples/order.refunded.json"
};
static const unsigned char file_84[] = {
#embed "../../providers/polar/samples/subscription.active.json"
};
static const unsigned char file_85[] = {
#embed "../../providers/polar/samples/subscription.active.recovered.json"
};
static const unsigned char file_86[] = {
#embed "../../providers/polar/samples/subscription.canceled.json"
};
static const unsigned char file_87[] = {
#embed "../../providers/polar/samples/subscription.created.json"
};
static const unsigned char file_88[] = {
#embed "../../providers/polar/samples/subscription.created.trialing.json"
};
static const unsigned char file_89[] = {
#embed "../../providers/polar/samples/subscription.cycled.json"
};
static const unsigned char file_90[] = {
#embed "../../providers/polar/samples/subscription.past_due.json"
};
static const unsigned char file_91[] = {
#embed "../../providers/polar/samples/subscription.paused.json"
};
static const unsigned char file_92[] = {
#embed "../../providers/polar/samples/subscription.resumed.json"
};
static const unsigned char file_93[] = {
#embed "../../providers/polar/samples/subscription.revoked.json"
};
static const unsigned char file_94[] = {
#embed "../../providers/polar/samples/subscription.uncanceled.json"
};
static const unsigned char file_95[] = {
#embed "../../providers/polar/samples/subscription.updated.json"
};
static const unsigned char file_96[] = {
#embed "../../providers/revenuecat/samples/billing_issue.json"
};
static const unsigned char file_97[] = {
#embed "../../providers/revenuecat/samples/cancellation.json"
};
static const unsigned char file_98[] = {
#embed "../../providers/revenuecat/samples/expiration.json"
};
static const unsigned char file_99[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.json"
};
static const unsigned char file_100[] = {
#embed "../../providers/revenuecat/samples/initial_purchase.trial.json"
};
static const unsigned char file_101[] = {
#embed "../../providers/revenuecat/samples/non_renewing_purchase.json"
};
static const unsigned char file_102[] = {
#embed "../../providers/revenuecat/samples/product_change.json"
};
static const unsigned char file_103[] = {
#embed "../../providers/revenuecat/samples/refund.json"
};
static const unsigned char file_104[] = {
#embed "../../providers/revenuecat/samples/refund_reversed.json"
};
static const unsigned char file_105[] = {
#embed "../../providers/revenuecat/samples/renewal.json"
};
static const unsigned char file_106[] = {
#embed "../../providers/revenuecat/samples/subscription_extended.json"
};
static const unsigned char file_107[] = {
#embed "../../providers/revenuecat/samples/subscription_paused.json"
};
static const unsigned char file_108[] = {
#embed "../../providers/revenuecat/samples/temporary_entitlement_grant.json"
};
static const unsigned char file_109[] = {
#embed "../../providers/revenuecat/samples/test.json"
};
static const unsigned char file_110[] = {
#embed "../../providers/revenuecat/samples/transfer.json"
};
static const unsigned char file_111[] = {
#embed "../../providers/revenuecat/samples/uncancellation.json"
};
static const unsigned char file_112[] = {
#embed "../../providers/stripe/samples/charge.dispute.closed.json"
};
static const unsigned char file_113[] = {
#embed "../../providers/stripe/samples/charge.dispute.created.json"
};
static const unsigned char file_114[] = {
#embed "../../providers/stripe/samples/charge.refunded.json"
};
static const unsigned char file_115[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.json"
};
static const unsigned char file_116[] = {
#embed "../../providers/stripe/samples/checkout.session.completed.payment.json"
};
static const unsigned char file_117[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.json"
};
static const unsigned char file_118[] = {
#embed "../../providers/stripe/samples/customer.subscription.created.trialing.json"
};
static const unsigned char file_119[] = {
#embed "../../providers/stripe/samples/customer.subscription.deleted.json"
};
static const unsigned char file_120[] = {
#embed "../../providers/stripe/samples/customer.subscription.paused.json"
};
static const unsigned char file_121[] = {
#embed "../../providers/stripe/samples/customer.subscription.resumed.json"
};
static const unsigned char file_122[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.cancel.json"
};
static const unsigned char file_123[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.json"
};
static const unsigned char file_124[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.old_shape.json"
};
static const unsigned char file_125[] = {
#embed "../../providers/stripe/samples/customer.subscription.updated.past_due.json"
};
static const unsigned char file_126[] = {
#embed "../../providers/stripe/samples/invoice.paid.json"
};
static const unsigned char file_127[] = {
#embed "../../providers/stripe/samples/invoice_payment.paid.json"
};
static const unsigned char file_128[] = {
#embed "../../providers/stripe/samples/refund.failed.json"
};
static const unsigned char file_129[] = {
#embed "../../providers/stripe/stripe.json"
};
static const unsigned char file_130[] = {
#embed "../../schema/sqlite/0001_initial.sql"
};
static const unsigned char file_131[] = {
#embed "../../schema/sqlite/0002_link_since.sql"
};

static const struct embedded_file files[] = {
    {"providers/app_store/AppleRootCA-G3.cer", file_0, sizeof file_0},
    {"providers/app_store/samples/billing_recovery.json", file_1, sizeof file_1},
    {"providers/app_store/samples/billing_retry.json", file_2, sizeof file_2},
    {"providers/app_store/samples/consumable.json", file_3, sizeof file_3},
    {"providers/app_store/samples/downgrade.json", file_4, sizeof file_4},
    {"providers/app_store/samples/expired.json", file_5, sizeof file_5},
    {"providers/app_store/samples/grace_period.json", file_6, sizeof file_6},
    {"providers/app_store/samples/grace_period_expired.json", file_7, sizeof file_7},
    {"providers/app_store/samples/initial_buy.json", file_8, sizeof file_8},
    {"providers/app_store/samples/lifetime.json", file_9, sizeof file_9},
    {"providers/app_store/samples/refund.json", file_10, sizeof file_10},
    {"providers/app_store/samples/refund_reversed.json", file_11, sizeof file_11},
    {"providers/app_store/samples/renewal.json", file_12, sizeof file_12},
    {"providers/app_store/samples/renewal_extended.json", file_13, sizeof file_13},
    {"providers/app_store/samples/renewal_off.json", file_14, sizeof file_14},
    {"providers/app_store/samples/renewal_on.json", file_15, sizeof file_15},
    {"providers/app_store/samples/resubscribe.json", file_16, sizeof file_16},
    {"providers/app_store/samples/revoke.json", file_17, sizeof file_17},
    {"providers/app_store/samples/test.json", file_18, sizeof file_18},
    {"providers/app_store/samples/trial.json", file_19, sizeof file_19},
    {"providers/app_store/samples/upgrade.json", file_20, sizeof file_20},
    {"providers/creem/creem.json", file_21, sizeof file_21},
    {"providers/creem/samples/checkout.completed.json", file_22, sizeof file_22},
    {"providers/creem/samples/checkout.completed.onetime.json", file_23, sizeof file_23},
    {"providers/creem/samples/dispute.created.json", file_24, sizeof file_24},
    {"providers/creem/samples/refund.created.json", file_25, sizeof file_25},
    {"providers/creem/samples/subscription.active.json", file_26, sizeof file_26},
    {"providers/creem/samples/subscription.canceled.json", file_27, sizeof file_27},
    {"providers/creem/samples/subscription.expired.json", file_28, sizeof file_28},
    {"providers/creem/samples/subscription.paid.json", file_29, sizeof file_29},
    {"providers/creem/samples/subscription.past_due.json", file_30, sizeof file_30},
    {"providers/creem/samples/subscription.paused.json", file_31, sizeof file_31},
    {"providers/creem/samples/subscription.scheduled_cancel.json", file_32, sizeof file_32},
    {"providers/creem/samples/subscription.trialing.json", file_33, sizeof file_33},
    {"providers/creem/samples/subscription.unpaid.json", file_34, sizeof file_34},
    {"providers/creem/samples/subscription.update.json", file_35, sizeof file_35},
    {"providers/dodo/dodo.json", file_36, sizeof file_36},
    {"providers/dodo/samples/dispute.opened.json", file_37, sizeof file_37},
    {"providers/dodo/samples/dispute.won.json", file_38, sizeof file_38},
    {"providers/dodo/samples/payment.succeeded.json", file_39, sizeof file_39},
    {"providers/dodo/samples/refund.succeeded.json", file_40, sizeof file_40},
    {"providers/dodo/samples/subscription.active.json", file_41, sizeof file_41},
    {"providers/dodo/samples/subscription.active.recovered.json", file_42, sizeof file_42},
    {"providers/dodo/samples/subscription.cancelled.json", file_43, sizeof file_43},
    {"providers/dodo/samples/subscription.expired.json", file_44, sizeof file_44},
    {"providers/dodo/samples/subscription.on_hold.json", file_45, sizeof file_45},
    {"providers/dodo/samples/subscription.paused.json", file_46, sizeof file_46},
    {"providers/dodo/samples/subscription.renewed.json", file_47, sizeof file_47},
    {"providers/dodo/samples/subscription.unpaused.json", file_48, sizeof file_48},
    {"providers/dodo/samples/subscription.updated.cancel.json", file_49, sizeof file_49},
    {"providers/lemonsqueezy/lemonsqueezy.json", file_50, sizeof file_50},
    {"providers/lemonsqueezy/samples/license_key_created.json", file_51, sizeof file_51},
    {"providers/lemonsqueezy/samples/order_created.json", file_52, sizeof file_52},
    {"providers/lemonsqueezy/samples/order_refunded.json", file_53, sizeof file_53},
    {"providers/lemonsqueezy/samples/subscription_cancelled.json", file_54, sizeof file_54},
    {"providers/lemonsqueezy/samples/subscription_created.json", file_55, sizeof file_55},
    {"providers/lemonsqueezy/samples/subscription_created.on_trial.json", file_56, sizeof file_56},
    {"providers/lemonsqueezy/samples/subscription_expired.json", file_57, sizeof file_57},
    {"providers/lemonsqueezy/samples/subscription_paused.json", file_58, sizeof file_58},
    {"providers/lemonsqueezy/samples/subscription_payment_refunded.json", file_59, sizeof file_59},
    {"providers/lemonsqueezy/samples/subscription_payment_success.json", file_60, sizeof file_60},
    {"providers/lemonsqueezy/samples/subscription_resumed.json", file_61, sizeof file_61},
    {"providers/lemonsqueezy/samples/subscription_unpaused.json", file_62, sizeof file_62},
    {"providers/lemonsqueezy/samples/subscription_updated.json", file_63, sizeof file_63},
    {"providers/lemonsqueezy/samples/subscription_updated.past_due.json", file_64, sizeof file_64},
    {"providers/lemonsqueezy/samples/subscription_updated.recovered.json", file_65, sizeof file_65},
    {"providers/paddle/paddle.json", file_66, sizeof file_66},
    {"providers/paddle/samples/adjustment.chargeback.json", file_67, sizeof file_67},
    {"providers/paddle/samples/adjustment.chargeback_reverse.json", file_68, sizeof file_68},
    {"providers/paddle/samples/adjustment.refund.json", file_69, sizeof file_69},
    {"providers/paddle/samples/subscription.activated.json", file_70, sizeof file_70},
    {"providers/paddle/samples/subscription.canceled.json", file_71, sizeof file_71},
    {"providers/paddle/samples/subscription.created.json", file_72, sizeof file_72},
    {"providers/paddle/samples/subscription.past_due.json", file_73, sizeof file_73},
    {"providers/paddle/samples/subscription.paused.json", file_74, sizeof file_74},
    {"providers/paddle/samples/subscription.resumed.json", file_75, sizeof file_75},
    {"providers/paddle/samples/subscription.trialing.json", file_76, sizeof file_76},
    {"providers/paddle/samples/subscription.updated.cancel.json", file_77, sizeof file_77},
    {"providers/paddle/samples/subscription.updated.json", file_78, sizeof file_78},
    {"providers/paddle/samples/transaction.completed.json", file_79, sizeof file_79},
    {"providers/polar/polar.json", file_80, sizeof file_80},
    {"providers/polar/samples/customer.state_changed.json", file_81, sizeof file_81},
    {"providers/polar/samples/order.paid.json", file_82, sizeof file_82},
    {"providers/polar/samples/order.refunded.json", file_83, sizeof file_83},
    {"providers/polar/samples/subscription.active.json", file_84, sizeof file_84},
    {"providers/polar/samples/subscription.active.recovered.json", file_85, sizeof file_85},
    {"providers/polar/samples/subscription.canceled.json", file_86, sizeof file_86},
    {"providers/polar/samples/subscription.created.json", file_87, sizeof file_87},
    {"providers/polar/samples/subscription.created.trialing.json", file_88, sizeof file_88},
    {"providers/polar/samples/subscription.cycled.json", file_89, sizeof file_89},
    {"providers/polar/samples/subscription.past_due.json", file_90, sizeof file_90},
    {"providers/polar/samples/subscription.paused.json", file_91, sizeof file_91},
    {"providers/polar/samples/subscription.resumed.json", file_92, sizeof file_92},
    {"providers/polar/samples/subscription.revoked.json", file_93, sizeof file_93},
    {"providers/polar/samples/subscription.uncanceled.json", file_94, sizeof file_94},
    {"providers/polar/samples/subscription.updated.json", file_95, sizeof file_95},
    {"providers/revenuecat/samples/billing_issue.json", file_96, sizeof file_96},
    {"providers/revenuecat/samples/cancellation.json", file_97, sizeof file_97},
    {"providers/revenuecat/samples/expiration.json", file_98, sizeof file_98},
    {"providers/revenuecat/samples/initial_purchase.json", file_99, sizeof file_99},
    {"providers/revenuecat/samples/initial_purchase.trial.json", file_100, sizeof file_100},
    {"providers/revenuecat/samples/non_renewing_purchase.json", file_101, sizeof file_101},
    {"providers/revenuecat/samples/product_change.json", file_102, sizeof file_102},
    {"providers/revenuecat/samples/refund.json", file_103, sizeof file_103},
    {"providers/revenuecat/samples/refund_reversed.json", file_104, sizeof file_104},
    {"providers/revenuecat/samples/renewal.json", file_105, sizeof file_105},
    {"providers/revenuecat/samples/subscription_extended.json", file_106, sizeof file_106},
    {"providers/revenuecat/samples/subscription_paused.json", file_107, sizeof file_107},
    {"providers/revenuecat/samples/temporary_entitlement_grant.json", file_108, sizeof file_108},
    {"providers/revenuecat/samples/test.json", file_109, sizeof file_109},
    {"providers/revenuecat/samples/transfer.json", file_110, sizeof file_110},
    {"providers/revenuecat/samples/uncancellation.json", file_111, sizeof file_111},
    {"providers/stripe/samples/charge.dispute.closed.json", file_112, sizeof file_112},
    {"providers/stripe/samples/charge.dispute.created.json", file_113, sizeof file_113},
    {"providers/stripe/samples/charge.refunded.json", file_114, sizeof file_114},
    {"providers/stripe/samples/checkout.session.completed.json", file_115, sizeof file_115},
    {"providers/stripe/samples/checkout.session.completed.payment.json", file_116, sizeof file_116},
    {"providers/stripe/samples/customer.subscription.created.json", file_117, sizeof file_117},
    {"providers/stripe/samples/customer.subscription.created.trialing.json", file_118, sizeof file_118},
    {"providers/stripe/samples/customer.subscription.deleted.json", file_119, sizeof file_119},
    {"providers/stripe/samples/customer.subscription.paused.json", file_120, sizeof file_120},
    {"providers/stripe/samples/customer.subscription.resumed.json", file_121, sizeof file_121},
    {"providers/stripe/samples/customer.subscription.updated.cancel.json", file_122, sizeof file_122},
    {"providers/stripe/samples/customer.subscription.updated.json", file_123, sizeof file_123},
    {"providers/stripe/samples/customer.subscription.updated.old_shape.json", file_124, sizeof file_124},
    {"providers/stripe/samples/customer.subscription.updated.past_due.json", file_125, sizeof file_125},
    {"providers/stripe/samples/invoice.paid.json", file_126, sizeof file_126},
    {"providers/stripe/samples/invoice_payment.paid.json", file_127, sizeof file_127},
    {"providers/stripe/samples/refund.failed.json", file_128, sizeof file_128},
    {"providers/stripe/stripe.json", file_129, sizeof file_129},
    {"schema/sqlite/0001_initial.sql", file_130, sizeof file_130},
    {"schema/sqlite/0002_link_since.sql", file_131, sizeof file_131},
};

size_t embedded_file_count(void) { return sizeof files / sizeof files[0]; }

struct embedded_file embedded_file_at(size_t index) { return files[index]; }
