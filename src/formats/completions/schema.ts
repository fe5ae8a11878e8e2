import { z } from 'zod'
import { chatRequest } from '../chat/schema.ts'

const { messages: _messages, tools: _tools, ...fields } = chatRequest.shape

/** A request in the legacy completions format. Unknown fields pass. */
export const completionsRequest = z
  .looseObject({
    ...fields,
    prompt: z.union([z.string(), z.array(z.unknown())], 'must be a string'),
    logprobs: z.union([z.boolean(), z.int().min(0).max(20)]).nullish(),
    suffix: z.string().nullish(),
    echo: z.boolean().nullish(),
    best_of: z.int().min(1).nullish(),
  })
  .meta({ id: 'CompletionsRequest' })
