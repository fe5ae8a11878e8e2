import { z } from 'zod'

const images = z.array(z.string()).nullish().describe('Images in base64')

const options = z
  .looseObject({
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    top_k: z.number().nullish(),
    min_p: z.number().nullish(),
    seed: z.int().nullish(),
    num_predict: z.int().nullish().describe('Maximum number of output tokens; no limit if zero or negative'),
    repeat_penalty: z.number().nullish(),
    presence_penalty: z.number().nullish(),
    frequency_penalty: z.number().nullish(),
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
  })
  .nullish()

const sharedFields = {
  model: z.string().min(1),
  stream: z.boolean().nullish().describe('Streams the reply; true by default'),
  format: z
    .union([z.literal(''), z.literal('json'), z.looseObject({})], 'must be "json" or a JSON schema')
    .nullish(),
  think: z
    .union(
      [z.boolean(), z.enum(['low', 'medium', 'high', 'max'])],
      'must be true, false, low, medium, high or max',
    )
    .nullish(),
  options,
  keep_alive: z.union([z.string(), z.number()]).nullish().describe('Ignored: the gateway loads no models'),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
}

const toolCall = z.looseObject({
  function: z.looseObject({ name: z.string().min(1), arguments: z.unknown().optional() }),
})

const message = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  images,
  tool_calls: z.array(toolCall).nullish(),
  tool_name: z.string().nullish(),
})

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
  }),
})

export const ollamaChatRequest = z
  .looseObject({ ...sharedFields, messages: z.array(message).nullish(), tools: z.array(tool).nullish() })
  .meta({ id: 'OllamaChatRequest' })

export const ollamaGenerateRequest = z
  .looseObject({
    ...sharedFields,
    prompt: z.string().nullish(),
    system: z.string().nullish(),
    suffix: z.string().nullish(),
    images,
  })
  .meta({ id: 'OllamaGenerateRequest' })
