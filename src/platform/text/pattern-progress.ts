import { RE2JS } from 're2js'

/** The operations of a compiled program, as the engine numbers them. */
const operation = {
  alternative: 1,
  alternativeMatch: 2,
  capture: 3,
  assertion: 4,
  match: 6,
  nothing: 7,
  characters: 8,
  character: 9,
  any: 10,
  anyButNewline: 11,
} as const

interface Instruction {
  op: number
  out: number
  arg: number
  runes: ArrayLike<number>
  matchRune(character: number): boolean
}

const newline = 10

function accepts(instruction: Instruction, character: number): boolean {
  const { op, runes } = instruction
  if (op === operation.any) return true
  if (op === operation.anyButNewline) return character !== newline
  return op === operation.character ? runes[0] === character : instruction.matchRune(character)
}

/** What a match can go on with. */
interface Step {
  readers: readonly Reader[]
  /** Whether the match may end here. */
  isEnd: boolean
  /** Whether an assertion about the next character decides. */
  isAsserted: boolean
}

/** An instruction that reads a character. */
interface Reader {
  id: number
  instruction: Instruction
  next: Step
}

/** A pattern, to be followed in any number of texts. */
export interface PatternProgram {
  readerCount: number
  first: Step
  /** Whether a match may begin with each of the ASCII characters. */
  ascii: readonly boolean[]
}

const noStep: Step = { readers: [], isEnd: false, isAsserted: false }

export function openProgram(source: string): PatternProgram {
  const { inst: instructions, start } = RE2JS.compile(RE2JS.translateRegExp(source)).re2Input.prog as {
    inst: Instruction[]
    start: number
  }
  const readers = new Map<Instruction, Reader>()
  for (const instruction of instructions)
    if (readsCharacter(instruction)) readers.set(instruction, { id: readers.size, instruction, next: noStep })
  for (const reader of readers.values()) reader.next = findStep(reader.instruction.out)
  const first = findStep(start)
  const isFirst = (code: number) => first.readers.some(({ instruction }) => accepts(instruction, code))
  return { readerCount: readers.size, first, ascii: Array.from({ length: 128 }, (_, code) => isFirst(code)) }

  function findStep(from: number): Step {
    const reached = [...listReached(instructions, from)]
    return {
      readers: reached.flatMap((instruction) => readers.get(instruction) ?? []),
      isEnd: reached.some(({ op }) => op === operation.match),
      isAsserted: reached.some(({ op }) => op === operation.assertion),
    }
  }
}

function readsCharacter({ op }: Instruction): boolean {
  return op >= operation.characters && op <= operation.anyButNewline
}

/** The instructions that can be reached without a character. */
function listReached(instructions: readonly Instruction[], from: number): Set<Instruction> {
  const reached = new Set<Instruction>()
  const pending = [from]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const instruction = instructions[at]
    if (!instruction || reached.has(instruction)) continue
    reached.add(instruction)
    const { op, out, arg } = instruction
    if (op === operation.alternative || op === operation.alternativeMatch) pending.push(arg, out)
    if (op === operation.capture || op === operation.assertion || op === operation.nothing) pending.push(out)
  }
  return reached
}

interface Thread {
  reader: Reader
  /** Where its match begins. */
  start: number
}

/**
 * Follows a pattern through a text that arrives in pieces: where a match may begin that what follows decides. It takes
 * every assertion, such as `\b`, to hold, so it may report more than there is, and never less.
 */
export class PatternProgress {
  readonly #program: PatternProgram
  /** Those that wait for a character behind the first of a match: earliest start first. */
  #threads: Thread[] = []
  /** The character at which a reader last got a thread. */
  readonly #waiting: Float64Array
  #position = 0
  /** The start of the earliest match that an assertion about the next character decides. */
  #assertedStart = Number.POSITIVE_INFINITY
  #highSurrogate = ''
  /** Where the last match may have ended; 0 without one. */
  lastMatchEnd = 0

  constructor(program: PatternProgram) {
    this.#program = program
    this.#waiting = new Float64Array(program.readerCount)
  }

  /** The place from which matches may begin that are not decided. */
  get open(): number {
    return Math.min(this.#threads[0]?.start ?? this.#position, this.#assertedStart, this.#position)
  }

  add(piece: string): void {
    const text = this.#highSurrogate === '' ? piece : this.#highSurrogate + piece
    const isCut = isHighSurrogate(text.charCodeAt(text.length - 1))
    const end = isCut ? text.length - 1 : text.length
    this.#highSurrogate = isCut ? text.charAt(end) : ''
    for (let at = 0; at < end; ) {
      const character = text.codePointAt(at) ?? 0
      const length = character > 0xffff ? 2 : 1
      this.#advance(character, length)
      at += length
    }
  }

  /** Goes on behind a piece that is not read: matches that begin before its end are not followed. */
  skip(length: number): void {
    this.#position += this.#highSurrogate.length + length
    this.#highSurrogate = ''
    this.#threads = []
    this.#assertedStart = Number.POSITIVE_INFINITY
  }

  #advance(character: number, length: number): void {
    const { first, ascii } = this.#program
    const threads = this.#threads
    const start = this.#position
    this.#position += length
    this.#assertedStart = Number.POSITIVE_INFINITY
    if (threads.length === 0 && ascii[character] === false) return
    this.#threads = []
    for (const thread of threads)
      if (accepts(thread.reader.instruction, character)) this.#goOn(thread.reader.next, thread.start)
    for (const { instruction, next } of first.readers)
      if (accepts(instruction, character)) this.#goOn(next, start)
  }

  /** The first thread to reach a reader has the earliest start. */
  #goOn({ readers, isEnd, isAsserted }: Step, start: number): void {
    if (isEnd) this.lastMatchEnd = this.#position
    if (isAsserted) this.#assertedStart = Math.min(this.#assertedStart, start)
    for (const reader of readers) {
      if (this.#waiting[reader.id] === this.#position) continue
      this.#waiting[reader.id] = this.#position
      this.#threads.push({ reader, start })
    }
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
