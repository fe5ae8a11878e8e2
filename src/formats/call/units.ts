/** Parts of a request or reply that can be billed by another unit than the token. */
export type Billable =
  | 'output_image'
  | 'input_image'
  | 'input_font'
  | 'input_reference'
  | 'input_text'
  | 'input_audio'
  | 'output_audio'
  | 'output_video'
  | 'search'

export type BillingUnit =
  | 'request'
  | 'image'
  | 'megapixel'
  | 'character'
  | 'second'
  | 'search'
  | 'video'
  | 'token'

/** Quantities are integers: they count thousandths of a second and single pixels. */
export const unitScales: Readonly<Partial<Record<BillingUnit, bigint>>> = {
  second: 1000n,
  megapixel: 1_000_000n,
}

/** A quantity of what a request used, or may use at most. */
export interface BilledUnits {
  billable: Billable
  unit: BillingUnit
  /** Number of units, or of their parts where `unitScales` has the unit. */
  quantity: number
  /** The names its price may have, the most specific first; `any` if it is not known yet: the highest applies. */
  variants: readonly string[] | 'any'
  /** The known size, resolution and quality, with `any`. A price for another one does not apply. */
  known?: readonly string[]
}
