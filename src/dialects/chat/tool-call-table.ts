import { asNumber, asObject, asString, type JsonObject } from '../../lib/json-values.ts'

export interface OpenToolCall {
  id: string
  /** Which call of its choice it is. */
  ordinal: number
  /** The part it is, for readers. */
  part: number
  /** Takes free text, of which nothing is something too. */
  custom: boolean
  /** Something of its arguments came. */
  hasArguments: boolean
}

/** The tool calls of a choice. Vendors number them, or name each anew, or do both wrongly. */
export class ToolCallTable {
  readonly #byKey = new Map<string, OpenToolCall>()
  readonly #byId = new Map<string, OpenToolCall>()
  readonly #all: OpenToolCall[] = []

  get size(): number {
    return this.#all.length
  }

  get all(): readonly OpenToolCall[] {
    return this.#all
  }

  /** The call that a piece continues; undefined when it begins another. */
  find(delta: JsonObject): OpenToolCall | undefined {
    const [index, id] = [asNumber(delta.index), asString(delta.id)]
    const name = asString(functionFieldsOf(delta).name)
    if (index === undefined) {
      if (id) return this.#byId.get(id)
      return name ? undefined : this.#all.at(-1)
    }
    const existing = this.#byKey.get(String(index))
    // The same number with another id and a name is another call: some vendors number every call 0.
    return existing && id && id !== existing.id && name ? this.#byId.get(id) : existing
  }

  add(delta: JsonObject, id: string, part: number): OpenToolCall {
    const custom = isCustomToolCall(delta)
    const call = { id, ordinal: this.#all.length, part, custom, hasArguments: false }
    this.#all.push(call)
    if (!this.#byId.has(id)) this.#byId.set(id, call)
    const index = asNumber(delta.index)
    // A number that is used again means the newest call from now on.
    if (index !== undefined) this.#byKey.set(String(index), call)
    return call
  }
}

/** What a call says of its function. Some vendors fill in every member of the format, the unused ones with nothing. */
export function functionFieldsOf(delta: JsonObject): JsonObject {
  const [custom, functionFields] = [asObject(delta.custom), asObject(delta.function)]
  if (custom && !isBlank(custom)) return custom
  return functionFields ?? custom ?? {}
}

export function isCustomToolCall(delta: JsonObject): boolean {
  const [custom, functionFields] = [asObject(delta.custom), asObject(delta.function)]
  if (custom) return !isBlank(custom) || functionFields === undefined
  return delta.type === 'custom'
}

/** Whether a member is there and says nothing: empty, or with nothing but empty members. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(isBlank)
}
