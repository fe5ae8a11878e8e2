import type { PlacedText } from '../../formats/call/texts.ts'
import { type ReceiveText, WorkerThread } from '../../platform/concurrency/worker-thread.ts'
import { unavailableError } from '../../platform/errors/gateway-error.ts'
import { estimateProgramSize } from '../../platform/text/pattern.ts'
import { type FilterHit, type FilterResult, FilterSet } from './filter-set.ts'
import { FilterSetCache } from './filter-set-cache.ts'
import { type FoundEdit, findEdits, type RedactedText, redactText } from './redact-text.ts'
import type { FilterRules } from './rules.ts'
import { type ScannedText, scanText } from './scan-text.ts'
import type { ScanMode, ScanRequest } from './scan-worker.ts'

/** Rules under the key that their compiled form is cached by. */
export interface RuleSet {
  key: string
  rules: FilterRules
}

/**
 * Steps of scans: ten for each character under the detectors, and at most one for each instruction of the custom
 * patterns. Ten thousand take about a millisecond.
 */
const detectorSteps = 10
/** A short text takes as long as one of this length. */
const minTextLength = 20
/** Steps above which a text is scanned on another thread. */
const maxInlineSteps = 60_000
/** Size above which a pattern is compiled on another thread. */
const maxInlineProgram = 200
/** A quarter of a second. What takes longer has a thread of its own, so that nothing else waits for it. */
const maxShortSteps = 2_500_000
/** Texts that wait for a thread. */
const maxPendingCharacters = 128 * 1024 * 1024

/** Time limit, far more than detectors need: only patterns that are expensive for this text take longer. */
const defaultTimeLimit = { milliseconds: 5_000, perCharacter: 0.005 }

interface ScanThread {
  worker: WorkerThread
  pendingCharacters: number
  last: Promise<unknown>
}

interface ScanJob extends RuleSet {
  texts: readonly ScannedText[]
  mode: ScanMode
  receive?: ReceiveText
}

interface PatternSizes {
  size: number
  /** Size of counted repetitions: their instructions can all be active at once. */
  repetitions: number
}

/** Scans texts with the filters of a policy: short ones at once, others on a thread of their own. */
export class ContentScanner {
  readonly #sets = new FilterSetCache()
  readonly #patternSizes = new WeakMap<FilterRules, PatternSizes>()
  readonly #short = createThread()
  readonly #long = createThread()
  readonly #timeLimit: typeof defaultTimeLimit

  constructor(timeLimit = defaultTimeLimit) {
    this.#timeLimit = timeLimit
  }

  /** The places of all matches, one result for each text. For texts that are not long: there may be many places. */
  scan(ruleSet: RuleSet, texts: readonly ScannedText[]): FilterResult[] | Promise<FilterResult[]> {
    const scanning = this.#scanOffThread({ ...ruleSet, texts, mode: 'places' })
    if (scanning) return scanning as Promise<FilterResult[]>
    const filters = this.#compile(ruleSet)
    return texts.map((text) => scanText(filters, text))
  }

  /** Finds hits in each text and redacts it, without memory for the places of matches. */
  redact(ruleSet: RuleSet, texts: readonly PlacedText[]): RedactedText[] | Promise<RedactedText[]> {
    const redacted = new Map<unknown, string>()
    const receive: ReceiveText = (index, text) => void redacted.set(index, text)
    const scanning = this.#scanOffThread({ ...ruleSet, texts, mode: 'texts', receive })
    const complete = (hits: FilterHit[], index: number) => ({ hits, text: redacted.get(index) ?? null })
    if (scanning) return scanning.then((found) => (found as FilterHit[][]).map(complete))
    const filters = this.#compile(ruleSet)
    return texts.map(({ text, place }) => redactText(filters, text, place))
  }

  /**
   * Finds hits, like `redact`, and passes on the replacements in each text instead of the text: in order, section by
   * section.
   */
  async findEdits(
    ruleSet: RuleSet,
    texts: readonly PlacedText[],
    pass: (index: number, edits: readonly FoundEdit[]) => void,
  ): Promise<FilterHit[][]> {
    const receive: ReceiveText = (index, edits) => pass(Number(index), JSON.parse(edits) as FoundEdit[])
    const scanning = this.#scanOffThread({ ...ruleSet, texts, mode: 'edits', receive })
    if (scanning) return (await scanning) as FilterHit[][]
    const filters = this.#compile(ruleSet)
    return texts.map(({ text, place }, index) =>
      findEdits(filters, text, place, (edits) => pass(index, edits)),
    )
  }

  /** Null for what is scanned at once. */
  #scanOffThread(job: ScanJob): Promise<unknown> | null {
    const characters = job.texts.reduce((sum, { text }) => sum + Math.max(text.length, minTextLength), 0)
    const { size, repetitions } = this.#measurePatterns(job.rules)
    if (size <= maxInlineProgram && characters * (detectorSteps + size) <= maxInlineSteps) return null
    const isLong = characters * (detectorSteps + repetitions) > maxShortSteps
    return this.#scanOnThread(isLong ? this.#long : this.#short, job, characters)
  }

  #compile({ key, rules }: RuleSet): FilterSet {
    return this.#sets.get(key) ?? this.#sets.add(key, new FilterSet(rules))
  }

  stop(): void {
    for (const { worker } of [this.#short, this.#long]) worker.terminate()
  }

  #measurePatterns(rules: FilterRules): PatternSizes {
    const known = this.#patternSizes.get(rules)
    if (known) return known
    // An allowed phrase is compared at each character.
    const phrases = rules.allowedPhrases?.reduce((sum, phrase) => sum + phrase.length, 0) ?? 0
    const sizes = { size: phrases, repetitions: 0 }
    for (const { pattern } of rules.customs) {
      const size = estimateProgramSize(pattern)
      sizes.size += size
      sizes.repetitions += Math.max(0, size - 2 * pattern.length)
    }
    this.#patternSizes.set(rules, sizes)
    return sizes
  }

  async #scanOnThread(thread: ScanThread, job: ScanJob, characters: number): Promise<unknown> {
    if (thread.pendingCharacters > maxPendingCharacters)
      throw unavailableError(new Error('too many texts wait for the content filters'))
    thread.pendingCharacters += characters
    // One after the other: the thread can be ended without harm to other requests.
    const scanning = thread.last.then(() => this.#scanInTime(thread.worker, job, characters))
    thread.last = scanning.catch(() => undefined)
    try {
      return await scanning
    } catch (cause) {
      throw unavailableError(cause)
    } finally {
      thread.pendingCharacters -= characters
    }
  }

  async #scanInTime(worker: WorkerThread, job: ScanJob, characters: number): Promise<unknown> {
    const { milliseconds, perCharacter } = this.#timeLimit
    const expired = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => {
        worker.terminate()
        expired.reject(new Error('the content filters took too long'))
      },
      milliseconds + characters * perCharacter,
    )
    try {
      return await Promise.race([callWorker(worker, job), expired.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}

async function callWorker(
  worker: WorkerThread,
  { key, rules, texts, mode, receive }: ScanJob,
): Promise<unknown> {
  const places = texts.map(({ text: _, ...place }) => place)
  const contents = texts.map(({ text }) => text)
  const call = (request: ScanRequest) => worker.call(request, contents, receive)
  // The thread may have compiled the rules before.
  return (await call({ key, places, mode })) ?? (await call({ key, rules, places, mode }))
}

function createThread(): ScanThread {
  return {
    worker: new WorkerThread(new URL('./scan-worker.ts', import.meta.url), null),
    pendingCharacters: 0,
    last: Promise.resolve(),
  }
}
