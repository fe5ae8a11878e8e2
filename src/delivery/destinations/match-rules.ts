import { asObject } from '../../platform/json/json-values.ts'
import { compilePattern, type Pattern } from '../../platform/text/pattern.ts'
import { countTotalTokens, type EventInput, type EventOutput, type GenerationEvent } from './event.ts'
import type { FilterField, FilterRule, FilterRules } from './filter-rules.ts'

/** Null: the event does not have the field. */
type FieldValue = string | number | null

const fieldReaders: Record<FilterField, (event: GenerationEvent) => FieldValue> = {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  session_id: ({ sessionId }) => sessionId,
  user_id: ({ externalUser }) => externalUser,
  api_key_name: ({ identity }) => identity?.apiKeyName ?? null,
  finish_reason: ({ finishReason }) => finishReason,
  input: ({ input }) => input && readInputText(input),
  output: ({ output }) => output && readOutputText(output),
  total_cost: ({ cost }) => cost?.total ?? null,
  total_tokens: ({ usage }) => countTotalTokens(usage),
  prompt_tokens: ({ usage }) => usage.promptTokens,
  completion_tokens: ({ usage }) => usage.completionTokens,
}

export interface CompiledGroup {
  isAnd: boolean
  rules: { field: FilterField; test: ValueTest }[]
}

/** A group without rules excludes nothing. */
export function compileRules(filterRules: FilterRules | null): CompiledGroup[] {
  if (!filterRules?.enabled) return []
  return filterRules.groups
    .filter(({ rules }) => rules.length > 0)
    .map(({ logic, rules }) => ({
      isAnd: logic === 'and',
      rules: rules.map(({ field, operator, value }) => ({ field, test: compileOperator(operator, value) })),
    }))
}

/** Returns whether every group matches, each by its own logic. In steps: texts may be long, and rules many. */
export function* matchEvent(
  groups: readonly CompiledGroup[],
  event: GenerationEvent,
): Generator<undefined, boolean> {
  const values = new Map<FilterField, FieldValue>()
  const read = (field: FilterField) => {
    const value = values.get(field) ?? fieldReaders[field](event)
    values.set(field, value)
    return value
  }
  for (const { isAnd, rules } of groups) {
    let isMatch = isAnd
    for (const { field, test } of rules) {
      yield
      isMatch = test(read(field))
      if (isMatch !== isAnd) break
    }
    if (!isMatch) return false
  }
  return true
}

type ValueTest = (actual: FieldValue) => boolean

/** A field that the event does not have differs from every value. */
function compileOperator(operator: FilterRule['operator'], value: string | number | undefined): ValueTest {
  const text = String(value ?? '')
  const whenPresent =
    (test: (actual: string | number) => boolean): ValueTest =>
    (actual) =>
      actual !== null && test(actual)
  const negate =
    (test: ValueTest): ValueTest =>
    (actual) =>
      !test(actual)
  const equals = whenPresent((actual) =>
    typeof actual === 'number' ? actual === Number(value ?? 0) : actual === text,
  )
  const contains = whenPresent((actual) => String(actual).includes(text))
  const compare = (test: (actual: number, limit: number) => boolean) =>
    whenPresent((actual) => actual !== '' && test(Number(actual), Number(value ?? 0)))
  switch (operator) {
    case 'equals':
      return equals
    case 'not_equals':
      return negate(equals)
    case 'contains':
      return contains
    case 'not_contains':
      return negate(contains)
    case 'starts_with':
      return whenPresent((actual) => String(actual).startsWith(text))
    case 'ends_with':
      return whenPresent((actual) => String(actual).endsWith(text))
    case 'regex':
      return whenPresent(createPatternTest(compilePattern(text)))
    case 'gt':
      return compare((actual, limit) => actual > limit)
    case 'lt':
      return compare((actual, limit) => actual < limit)
    case 'gte':
      return compare((actual, limit) => actual >= limit)
    case 'lte':
      return compare((actual, limit) => actual <= limit)
    case 'exists':
      return (actual) => actual !== null
    case 'not_exists':
      return (actual) => actual === null
  }
}

/** Characters times instructions: a match must not hold the event loop for more than a few milliseconds. */
const maxPatternSteps = 2_000_000

/** Creates a test that searches only the beginning of a long text. */
function createPatternTest(pattern: Pattern): (actual: string | number) => boolean {
  const maxLength = Math.floor(maxPatternSteps / Math.max(1, pattern.size))
  return (actual) => pattern.test(String(actual).slice(0, maxLength))
}

/** Reads the texts of messages, without the structure of the format. */
function readInputText(input: EventInput): string {
  if ('prompt' in input) return input.prompt
  return input.messages.flatMap((message) => collectTexts(message)).join('\n')
}

function readOutputText({ completion, tool_calls }: EventOutput): string {
  const calls = tool_calls.map(({ name, arguments: args }) => `${name} ${args}`)
  return [...(completion === null ? [] : [completion]), ...calls].join('\n')
}

/** Fields whose texts are names and not content. */
const structuralFields = new Set(['role', 'type', 'id', 'call_id', 'tool_call_id', 'tool_use_id'])

function collectTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(collectTexts)
  const object = asObject(value)
  if (!object) return []
  return Object.entries(object).flatMap(([name, entry]) =>
    structuralFields.has(name) ? [] : collectTexts(entry),
  )
}
