import type { Vault } from '../../platform/crypto/crypto.ts'

/** Words whose hashes are kept: those of one organization and day are mostly the same. */
const maxKnown = 20_000

/**
 * Hashes words with the secret of the installation, so that the index does not say what they are. The hashes of
 * another organization, and of another day, cannot be compared with them. Two words may have the same one.
 */
export class WordHasher {
  readonly #vault: Vault
  #context = ''
  #key: Uint8Array = new Uint8Array()
  #known = new Map<string, number>()

  constructor(vault: Vault) {
    this.#vault = vault
  }

  /** `day` is the UTC day of the content. */
  *hash(organizationId: string, day: string, words: Iterable<string>): Generator<void, number[]> {
    const context = `${organizationId}/${day}`
    if (context !== this.#context) {
      this.#context = context
      this.#key = this.#vault.deriveSearchKey(context)
      this.#known.clear()
    }
    const [key, known] = [this.#key, this.#known]
    const hashes = new Set<number>()
    for (const word of words) {
      hashes.add(known.get(word) ?? this.#remember(known, word, hashWord(key, word)))
      if (hashes.size % 128 === 0) yield
    }
    return [...hashes]
  }

  #remember(known: Map<string, number>, word: string, hash: number): number {
    if (known.size < maxKnown) known.set(word, hash)
    return hash
  }
}

function hashWord(key: Uint8Array, word: string): number {
  return new Bun.CryptoHasher('sha256', key).update(word).digest().readInt32BE(0)
}
