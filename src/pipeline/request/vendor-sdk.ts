/** Whether the client is an SDK of the vendor of its format. These name their language; other clients do not. */
export function isVendorSdk({ headers }: Request): boolean {
  return headers.has('x-stainless-lang')
}
