/** A short name for a workspace, from its name: small letters, digits and hyphens. */
export function suggestSlug(name: string): string {
  const ascii = name.normalize('NFKD').toLowerCase()
  const words = ascii.replaceAll(/[\u0300-\u036f]/g, '').replaceAll(/[^a-z0-9]+/g, '-')
  return words.slice(0, 50).replace(/^-+|-+$/g, '')
}
