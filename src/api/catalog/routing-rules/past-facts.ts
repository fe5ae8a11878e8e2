import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import { countPromptTokens } from '../../../formats/call/usage.ts'
import { type TaskName, tasks } from '../../../formats/vocabulary.ts'
import type { RuleFacts, RuleVariable } from '../../../governance/routing-rules/rule.ts'
import { splitTags } from '../../../governance/tags/tag.ts'
import { toTagMap } from '../../../inference/request/rule-facts.ts'
import { readUsage } from '../../../ledger/generation.ts'
import { EvaluationError } from '../../../platform/cel/expression.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import { detectLanguage } from '../../../platform/text/language.ts'

/** A condition reads what is not on record. */
export class NotRecordedError extends EvaluationError {
  readonly variable: RuleVariable

  constructor(variable: RuleVariable) {
    super(`${variable} is not on record`)
    this.variable = variable
  }
}

/** Created once: the stack of an error takes longer than a condition. */
const notRecorded = {
  input_tokens: new NotRecordedError('input_tokens'),
  language: new NotRecordedError('language'),
  tools: new NotRecordedError('tools'),
  uses_tools: new NotRecordedError('uses_tools'),
}

/** What rules read of a request that has ended, besides its record. */
export interface PastRequest {
  row: GenerationRow
  workspace: string
  key: { name: string | null; hash: string } | undefined
  /** Null if the prompt is not on record. */
  language: string | null
}

/** The variables of conditions, from a record. */
export function describePastRequest({ row, workspace, key, language }: PastRequest): RuleFacts {
  return {
    model: row.requested_model,
    operation: taskByApiType.get(row.api_type) ?? 'text',
    stream: row.streamed === 1,
    tags: toTagMap(splitTags(row.tags)),
    end_user: row.external_user ?? '',
    workspace,
    key: key?.name ?? '',
    key_hash: key?.hash ?? '',
    member: row.user_id ?? '',
    region: row.region,
    time: Date.parse(row.created_at),
    images: row.input_images,
    get input_tokens() {
      // A request that failed has no usage.
      return row.usage_source === 'none' ? notRecorded.input_tokens : countPromptTokens(readUsage(row))
    },
    language: language ?? notRecorded.language,
    tools: notRecorded.tools,
    uses_tools: notRecorded.uses_tools,
  }
}

const taskByApiType: ReadonlyMap<string | null, TaskName> = new Map(
  Object.entries(tasks).map(([name, { apiType }]) => [apiType, name as TaskName]),
)

/** The language of what the user wrote last, in a stored prompt of any format. */
export function detectStoredLanguage(input: JsonObject): string {
  const prompt = asString(input.prompt)
  if (prompt !== undefined) return detectLanguage(prompt)
  const texts = asObjects(input.messages).findLast((entry) => isOfUser(entry) && readText(entry) !== '')
  return texts ? detectLanguage(readText(texts)) : ''
}

function isOfUser({ role }: JsonObject): boolean {
  return role === undefined || role === 'user'
}

function readText({ content, parts, text }: JsonObject): string {
  const value = content ?? parts ?? text
  if (typeof value === 'string') return value
  return asObjects(value)
    .flatMap((part) => asString(asObject(part)?.text) ?? [])
    .join('\n')
}
