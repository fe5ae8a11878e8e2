import { Resolver } from 'node:dns/promises'

/** Resolves a name to its TXT records; to none if it does not exist. */
export type TxtResolver = (name: string) => Promise<string[]>

const timeoutMs = 3000
const maxRecords = 100

export const resolveTxt: TxtResolver = async (name) => {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
  try {
    const records = await resolver.resolveTxt(name)
    return records.slice(0, maxRecords).map((parts) => parts.join(''))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}
