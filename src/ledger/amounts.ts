export interface Amounts {
  /** Charged to credits. */
  amount: bigint
  /** List price of usage with a BYOK key, which pays the provider itself. */
  byok: bigint
}

export const noAmounts: Amounts = { amount: 0n, byok: 0n }

export function addAmounts(...amounts: readonly Amounts[]): Amounts {
  return amounts.reduce((a, b) => ({ amount: a.amount + b.amount, byok: a.byok + b.byok }), noAmounts)
}

/** Subtracts each amount, down to zero at least. */
export function subtractAmounts(from: Amounts, amounts: Amounts): Amounts {
  return { amount: positive(from.amount - amounts.amount), byok: positive(from.byok - amounts.byok) }
}

export function maxAmounts(a: Amounts, b: Amounts): Amounts {
  return { amount: a.amount > b.amount ? a.amount : b.amount, byok: a.byok > b.byok ? a.byok : b.byok }
}

/** Whether `a` covers `b`. */
export function coversAmounts(a: Amounts, b: Amounts): boolean {
  return a.amount >= b.amount && a.byok >= b.byok
}

export function isNothing({ amount, byok }: Amounts): boolean {
  return amount === 0n && byok === 0n
}

export function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}
