/** The public service whose clients use other names for what this API has. */
export const foreignName = 'openrouter'

/** The vendors, by their neutral names in this API. */
export const vendorNames = {
  anthropic: 'vendor_a',
  openai: 'vendor_b',
  google: 'vendor_c',
  xai: 'vendor_d',
} as const
