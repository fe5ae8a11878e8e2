import { asNumber, asObject, asString, isBlank, type JsonObject } from '../../platform/json/json-values.ts'

export interface OpenToolCall {
  id: string
  /** The index in the choice. */
  ordinal: number
  /** The part number, for readers. */
  part: number
  /** Takes free text, which may be empty. */
  custom: boolean
  /** Some arguments have arrived. */
  hasArguments: boolean
}

/** The tool calls of a choice. Vendors identify them by index or by id, and some get either wrong. */
export class ToolCallTable {
  readonly #byIndex = new Map<number, OpenToolCall>()
  readonly #byId = new Map<string, OpenToolCall>()
  readonly #all: OpenToolCall[] = []

  get size(): number {
    return this.#all.length
  }

  get all(): readonly OpenToolCall[] {
    return this.#all
  }

  /** The tool call that a delta continues; undefined if it starts a new one. */
  find(delta: JsonObject): OpenToolCall | undefined {
    const [index, id] = [asNumber(delta.index), asString(delta.id)]
    const name = asString(functionFieldsOf(delta).name)
    if (index === undefined) {
      if (id) return this.#byId.get(id)
      return name ? undefined : this.#all.at(-1)
    }
    const existing = this.#byIndex.get(index)
    // The same index with another id and a name is a new call: some vendors send index 0 for every call.
    return existing && id && id !== existing.id && name ? this.#byId.get(id) : existing
  }

  add(delta: JsonObject, id: string, part: number): OpenToolCall {
    const custom = isCustomToolCall(delta)
    const toolCall = { id, ordinal: this.#all.length, part, custom, hasArguments: false }
    this.#all.push(toolCall)
    if (!this.#byId.has(id)) this.#byId.set(id, toolCall)
    const index = asNumber(delta.index)
    // A reused index means the newest tool call.
    if (index !== undefined) this.#byIndex.set(index, toolCall)
    return toolCall
  }
}

/** The `function` or `custom` object of a tool call. Some vendors send both, the unused one blank. */
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
