import { z } from 'zod'
import {
  audienceFields,
  describeCreator,
  hasMatchingWorkspace,
  visibilityField,
  workspaceProblem,
} from '../../../access/shared-records.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { lineField, nameField } from '../../../platform/validation/name-schema.ts'
import type { ComparisonContent, ComparisonRow, StoredReply, Votes } from './store.ts'
import { type ReplyFigures, sumUp } from './totals.ts'

export const maxPrompts = 50
export const maxModels = 6
const maxTextLength = 20_000
const maxParametersLength = 50_000

const place = (count: number, of: string) =>
  z
    .int()
    .min(0)
    .max(count - 1)
    .describe(`The position in \`${of}\`, from 0.`)

export const promptPlace = place(maxPrompts, 'prompts')
export const modelPlace = place(maxModels, 'models')

const sentReply = z.strictObject({
  prompt: promptPlace,
  model: modelPlace,
  generation_id: z
    .string()
    .min(1)
    .max(256)
    .nullable()
    .optional()
    .describe('The generation, which cost and times are read from. The caller must be allowed to read it.'),
  text: z.string().max(maxTextLength).describe('The reply of the model.'),
  is_shortened: z.boolean().optional().describe('Whether `text` is only the beginning of the reply.'),
  error: z.string().max(2000).nullable().optional().describe('Why there is no reply.'),
})

const audience = audienceFields('shared_comparisons:write')

export const createComparisonBody = z
  .strictObject({
    name: nameField(100),
    models: z.array(lineField(200)).min(1).max(maxModels).describe('The models that replied.'),
    prompts: z.array(z.string().min(1).max(maxTextLength)).min(1).max(maxPrompts),
    parameters: z
      .record(z.string().max(100), z.unknown())
      .refine(
        (values) => JSON.stringify(values).length <= maxParametersLength,
        `must be at most ${maxParametersLength} characters of JSON`,
      )
      .optional()
      .describe('What the requests had in common, such as `{"temperature": 0}`.'),
    is_blind: z
      .boolean()
      .optional()
      .describe(
        'Whether the console hides models, costs and times from a person who has not voted on every prompt. The API returns them.',
      ),
    replies: z
      .array(sentReply)
      .min(1)
      .max(maxPrompts * maxModels)
      .describe('At most one for each prompt and model.'),
    ...audience,
  })
  .refine(hasMatchingWorkspace, workspaceProblem)

export type CreateComparisonBody = z.output<typeof createComparisonBody>

export const updateComparisonBody = z
  .strictObject({ name: nameField(100).optional(), ...audience })
  .refine(hasMatchingWorkspace, workspaceProblem)

const summaryFields = {
  id: z.uuid(),
  name: z.string(),
  visibility: visibilityField,
  workspace_id: z.uuid().nullable(),
  models: z.array(z.string()),
  prompt_count: z.int(),
  is_blind: z.boolean(),
  created_by: z.string().nullable().describe('The member who created it; null for an API key.'),
  is_own: z.boolean().describe('Whether the caller created it.'),
  created_at: z.string(),
  updated_at: z.string(),
}

export const comparisonSummary = z.strictObject(summaryFields).meta({ id: 'ComparisonSummary' })

const reply = z.strictObject({
  prompt: z.int(),
  model: z.int(),
  generation_id: z.string().nullable(),
  provider: z.string().nullable(),
  text: z.string(),
  is_shortened: z.boolean(),
  error: z.string().nullable(),
  cost: z
    .number()
    .nullable()
    .describe('In USD, with what the provider charges for a BYOK key. Null without a generation.'),
  latency: z.int().nullable().describe('Milliseconds to the first token.'),
  generation_time: z.int().nullable().describe('Milliseconds to the end of the reply.'),
})

const voteFields = {
  votes: z
    .array(z.strictObject({ prompt: z.int(), model: z.int(), count: z.int() }))
    .describe('How many people chose each reply.'),
  own_votes: z
    .array(z.strictObject({ prompt: z.int(), model: z.int() }))
    .describe('What the caller has chosen.'),
  totals: z
    .array(
      z.strictObject({
        model: z.string(),
        replies: z.int().describe('Replies without an error.'),
        votes: z.int(),
        wins: z.int().describe('Prompts for which it has more votes than every other model.'),
        cost: z.number().describe('In USD, of all its replies.'),
        latency: z.number().nullable().describe('Mean of its replies, in milliseconds.'),
        generation_time: z.number().nullable().describe('Mean of its replies, in milliseconds.'),
      }),
    )
    .describe('One for each model, in their order.'),
}

export const comparisonVotes = z.strictObject(voteFields).meta({ id: 'ComparisonVotes' })

export const comparison = z
  .strictObject({
    ...summaryFields,
    prompts: z.array(z.string()),
    parameters: z.record(z.string(), z.unknown()),
    replies: z.array(reply),
    ...voteFields,
  })
  .meta({ id: 'Comparison' })

export function toSummary(row: ComparisonRow, caller: string): z.input<typeof comparisonSummary> {
  const { id, name, visibility, workspace_id, prompt_count, created_at, updated_at } = row
  return {
    ...{ id, name, visibility, workspace_id, prompt_count, created_at, updated_at },
    models: JSON.parse(row.models),
    is_blind: row.is_blind === 1,
    ...describeCreator(row.creator, caller),
  }
}

export function toVotes(
  row: Pick<ComparisonRow, 'models'>,
  replies: readonly ReplyFigures[],
  { counts, own }: Votes,
): z.input<typeof comparisonVotes> {
  return { votes: counts, own_votes: own, totals: sumUp(JSON.parse(row.models), replies, counts) }
}

export function toComparison(
  row: ComparisonRow,
  { prompts, parameters }: ComparisonContent,
  replies: readonly StoredReply[],
  votes: Votes,
  caller: string,
): z.input<typeof comparison> {
  return {
    ...toSummary(row, caller),
    prompts,
    parameters,
    replies: replies.map(({ prompt, model, generation_id, provider, content, ...figures }) => ({
      ...{ prompt, model, generation_id, provider },
      text: content.text,
      is_shortened: content.is_shortened ?? false,
      error: content.error ?? null,
      cost: figures.cost_nanos === null ? null : usdFromNanos(figures.cost_nanos),
      latency: figures.first_token_ms ?? figures.latency_ms,
      generation_time: figures.latency_ms,
    })),
    ...toVotes(row, replies, votes),
  }
}
