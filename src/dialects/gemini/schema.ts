import { z } from 'zod'
import { sharedFields } from '../schema/shared-fields.ts'
import { listOf, snake } from './names.ts'

/** Each field in both of its spellings. */
function both<T extends Record<string, z.ZodType>>(fields: T): T {
  const result: Record<string, z.ZodType> = {}
  for (const [name, type] of Object.entries(fields)) {
    result[name] = type
    result[snake(name)] = type
  }
  return result as T
}

/** A single value stands for a list of one; as a union, an error inside would not be named by its path. */
function many<T extends z.ZodType>(type: T) {
  return z.preprocess(
    (value) => (value === undefined || value === null ? value : listOf(value)),
    z.array(type),
  )
}

const text = z.string().nullish()
const flag = z.boolean().nullish()
const number = z.number().nullish()
const whole = z.int().nullish()
const struct = z.looseObject({}).nullish()

const part = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  z.looseObject(
    both({
      text,
      thought: flag,
      thoughtSignature: text,
      inlineData: z.looseObject(both({ mimeType: text, data: z.string() })).nullish(),
      fileData: z.looseObject(both({ mimeType: text, fileUri: text })).nullish(),
      functionCall: z.looseObject({ name: z.string().min(1), id: text, args: struct }).nullish(),
      functionResponse: z.looseObject({ name: text, id: text, response: struct }).nullish(),
      executableCode: struct,
      codeExecutionResult: struct,
      videoMetadata: struct,
    }),
  ),
)

const withParts = (value: unknown) => (typeof value === 'string' ? { parts: [{ text: value }] } : value)

const content = z.preprocess(
  withParts,
  z.looseObject({
    role: z.enum(['user', 'model', 'function', 'tool']).nullish(),
    parts: many(part).nullish(),
  }),
)

const systemInstruction = z.preprocess(withParts, z.looseObject({ role: text, parts: many(part) }))

const functionDeclaration = z.looseObject(
  both({
    name: z.string().min(1),
    description: text,
    parameters: struct,
    parametersJsonSchema: struct,
    response: struct,
    responseJsonSchema: struct,
  }),
)

const tool = z.looseObject(both({ functionDeclarations: many(functionDeclaration).nullish() }))

const toolConfig = z.looseObject(
  both({
    functionCallingConfig: z
      .looseObject(both({ mode: text, allowedFunctionNames: many(z.string()).nullish() }))
      .nullish(),
  }),
)

const thinkingConfig = z.looseObject(
  both({ thinkingBudget: z.int().min(-1).nullish(), thinkingLevel: text, includeThoughts: flag }),
)

const generationConfig = z.looseObject({
  ...both({
    temperature: number,
    topP: number,
    topK: number,
    candidateCount: z.int().min(1).nullish(),
    maxOutputTokens: z.int().min(1).nullish(),
    stopSequences: many(z.string()).nullish(),
    seed: whole,
    presencePenalty: number,
    frequencyPenalty: number,
    responseLogprobs: flag,
    logprobs: whole,
    responseMimeType: text,
    responseSchema: struct,
    responseJsonSchema: struct,
    thinkingConfig: thinkingConfig.nullish(),
    responseModalities: many(z.string()).nullish(),
    speechConfig: struct,
    imageConfig: struct,
    mediaResolution: text,
  }),
  // An older name of `responseJsonSchema`.
  _responseJsonSchema: struct,
})

const safetySetting = z.looseObject({ category: text, threshold: text })

/** A request in the generateContent format. What the vendor adds to it later passes. */
export const geminiBody = z
  .looseObject({
    ...sharedFields,
    ...both({
      contents: many(content)
        .refine((contents) => contents.length > 0, 'must not be empty')
        .meta({ override: { minItems: 1 } }),
      systemInstruction: systemInstruction.nullish(),
      tools: many(tool).nullish(),
      toolConfig: toolConfig.nullish(),
      generationConfig: generationConfig.nullish(),
      safetySettings: many(safetySetting).nullish(),
      cachedContent: text,
      serviceTier: text,
    }),
    model: z.string().min(1).optional(),
    labels: z.record(z.string(), z.string()).nullish(),
    user: z.string().optional(),
  })
  .meta({ id: 'GeminiRequest' })
