import { sha256 } from '../../platform/crypto/crypto.ts'

/** A slug for each record: its name, with a part of its id where two have the same one. */
export function assignSlugs(
  records: readonly { id: string; name: string | null | undefined }[],
  kind: string,
): Map<string, string> {
  const taken = new Set<string>()
  const slugs = new Map<string, string>()
  for (const { id, name } of records) {
    const wanted = toSlug(name ?? '') || `${kind}-${sha256(id).slice(0, 8)}`
    const slug = taken.has(wanted) ? `${wanted}-${sha256(id).slice(0, 6)}` : wanted
    taken.add(slug)
    slugs.set(id, slug)
  }
  return slugs
}

const maxSlugLength = 40

export function toSlug(name: string): string {
  const words =
    name
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  return words.join('-').slice(0, maxSlugLength).replace(/-$/, '')
}
