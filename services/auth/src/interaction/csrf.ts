/** The token that binds a form to the interaction it was shown in. Origin checks alone would not do: with `no-referrer` browsers send `Origin: null`. */
import { type Mac, makeMac } from '../keys/mac.ts';

export type Csrf = Mac;

export const makeCsrf = (keys: Buffer[]): Csrf => makeMac(keys);
