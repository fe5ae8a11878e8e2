import { z } from 'zod'

const attempt = z
  .strictObject({
    code: z.int(),
    message: z.string(),
    provider_name: z.string().nullable(),
    raw: z.string().nullable(),
  })
  .meta({ id: 'GenerationContentErrorAttempt' })

const error = z
  .strictObject({
    message: z.string().nullable(),
    status: z.int().nullable(),
    provider_name: z.string().nullable(),
    raw: z.string().nullable(),
    previous_errors: z.array(attempt),
  })
  .meta({ id: 'GenerationContentError' })

const toolCall = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })

/** The format that src/inference/settle/content-log.ts writes. */
export const generationContent = z
  .strictObject({
    input: z.union([
      z.strictObject({ prompt: z.string() }),
      z.strictObject({
        messages: z.array(z.unknown()).describe('The messages in the format of the client.'),
      }),
    ]),
    output: z.strictObject({
      completion: z.string().nullable(),
      reasoning: z.string().nullable(),
      tool_calls: z.array(toolCall).describe('An extension: the tool calls of the model.'),
    }),
    error: error.nullable(),
    truncated: z
      .boolean()
      .describe('An extension: true if the content was too long to be stored completely.'),
  })
  .meta({ id: 'GenerationContent' })

export type GenerationContent = z.output<typeof generationContent>
