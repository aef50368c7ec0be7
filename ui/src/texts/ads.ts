import { speaker } from ".";
import { enAds } from "./en_ads";
import { ruAds } from "./ru_ads";

export const { say: sayAds, sayOr: sayAdsOr } = speaker({ en: enAds, ru: ruAds });
