import { unavailableError } from '../errors/gateway-error.ts'
import { estimateProgramSize } from '../lib/pattern.ts'
import { WorkerThread } from '../lib/worker-thread.ts'
import { type FilterResult, type FilterRules, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { type ScannedText, scanText } from './scan-text.ts'

/** Rules under the key that their compiled form is cached by. */
export interface RuleSet {
  key: string
  rules: FilterRules
}

/** Longer texts are scanned on another thread: a thousand characters take about half a millisecond. */
const maxInlineCharacters = 6000
/** As are texts under larger patterns, which take longer for each character. */
const maxInlineProgram = 2000
/** Texts that wait for a thread. */
const maxPendingCharacters = 128 * 1024 * 1024
/** Takes about a quarter of a second. Longer texts have a thread of their own, so that no other waits for them. */
const maxShortCharacters = 256 * 1024

interface ScanThread {
  worker: WorkerThread
  pendingCharacters: number
}

/** Scans texts with the filters of a policy: short ones at once, others on a thread of their own. */
export class ContentScanner {
  readonly #sets = new FilterSetCache()
  readonly #heavy = new WeakMap<FilterRules, boolean>()
  readonly #short = createThread()
  readonly #long = createThread()

  /** One result for each text. */
  scan({ key, rules }: RuleSet, texts: readonly ScannedText[]): FilterResult[] | Promise<FilterResult[]> {
    const characters = texts.reduce((sum, { text }) => sum + text.length, 0)
    if (characters > maxInlineCharacters || this.#isHeavy(rules))
      return this.#scanOnThread({ key, rules }, texts, characters)
    const filters = this.#compile({ key, rules })
    return texts.map((text) => scanText(filters, text))
  }

  #compile({ key, rules }: RuleSet): FilterSet {
    return this.#sets.get(key) ?? this.#sets.add(key, new FilterSet(rules))
  }

  stop(): void {
    for (const { worker } of [this.#short, this.#long]) worker.terminate()
  }

  #isHeavy(rules: FilterRules): boolean {
    const known = this.#heavy.get(rules)
    if (known !== undefined) return known
    const size = rules.customs.reduce((sum, { pattern }) => sum + estimateProgramSize(pattern), 0)
    this.#heavy.set(rules, size > maxInlineProgram)
    return size > maxInlineProgram
  }

  async #scanOnThread(
    { key, rules }: RuleSet,
    texts: readonly ScannedText[],
    characters: number,
  ): Promise<FilterResult[]> {
    const thread = characters > maxShortCharacters ? this.#long : this.#short
    if (thread.pendingCharacters > maxPendingCharacters)
      throw unavailableError(new Error('too many texts wait for the content filters'))
    thread.pendingCharacters += characters
    try {
      // The thread may have compiled the rules before.
      const places = texts.map(({ text: _, ...place }) => place)
      const contents = texts.map(({ text }) => text)
      const scanned = await thread.worker.call({ key, places }, contents)
      return (scanned ?? (await thread.worker.call({ key, rules, places }, contents))) as FilterResult[]
    } catch (cause) {
      throw unavailableError(cause)
    } finally {
      thread.pendingCharacters -= characters
    }
  }
}

function createThread(): ScanThread {
  return {
    worker: new WorkerThread(new URL('./scan-worker.ts', import.meta.url), null),
    pendingCharacters: 0,
  }
}
