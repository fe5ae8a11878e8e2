import { z } from 'zod'
import { sharedFields } from '../schema/shared-fields.ts'
import { listOf, toSnakeCase } from './field-names.ts'

/** Every field in both spellings. */
export function withSnakeCase<T extends Record<string, z.ZodType>>(fields: T): T {
  const result: Record<string, z.ZodType> = {}
  for (const [name, type] of Object.entries(fields)) {
    result[name] = type
    result[toSnakeCase(name)] = type
  }
  return result as T
}

/** Accepts a single value as a list of one. Not a union, because its errors would not have the path of the field. */
function oneOrMany<T extends z.ZodType>(type: T) {
  return z.preprocess(
    (value) => (value === undefined || value === null ? value : listOf(value)),
    z.array(type),
  )
}

const optionalText = z.string().nullish()
const optionalFlag = z.boolean().nullish()
const optionalNumber = z.number().nullish()
const optionalInteger = z.int().nullish()
const optionalObject = z.looseObject({}).nullish()

const part = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  z.looseObject(
    withSnakeCase({
      text: optionalText,
      thought: optionalFlag,
      thoughtSignature: optionalText,
      inlineData: z.looseObject(withSnakeCase({ mimeType: optionalText, data: z.string() })).nullish(),
      fileData: z.looseObject(withSnakeCase({ mimeType: optionalText, fileUri: optionalText })).nullish(),
      functionCall: z
        .looseObject({ name: z.string().min(1), id: optionalText, args: optionalObject })
        .nullish(),
      functionResponse: z
        .looseObject({ name: optionalText, id: optionalText, response: optionalObject })
        .nullish(),
      executableCode: optionalObject,
      codeExecutionResult: optionalObject,
      videoMetadata: optionalObject,
    }),
  ),
)

const wrapText = (value: unknown) => (typeof value === 'string' ? { parts: [{ text: value }] } : value)

export const content = z.preprocess(
  wrapText,
  z.looseObject({
    role: z.enum(['user', 'model', 'function', 'tool']).nullish(),
    parts: oneOrMany(part).nullish(),
  }),
)

const systemInstruction = z.preprocess(
  wrapText,
  z.looseObject({ role: optionalText, parts: oneOrMany(part) }),
)

const functionDeclaration = z.looseObject(
  withSnakeCase({
    name: z.string().min(1),
    description: optionalText,
    parameters: optionalObject,
    parametersJsonSchema: optionalObject,
    response: optionalObject,
    responseJsonSchema: optionalObject,
  }),
)

const tool = z.looseObject(withSnakeCase({ functionDeclarations: oneOrMany(functionDeclaration).nullish() }))

const toolConfig = z.looseObject(
  withSnakeCase({
    functionCallingConfig: z
      .looseObject(
        withSnakeCase({ mode: optionalText, allowedFunctionNames: oneOrMany(z.string()).nullish() }),
      )
      .nullish(),
  }),
)

const thinkingConfig = z.looseObject(
  withSnakeCase({
    thinkingBudget: z.int().min(-1).nullish(),
    thinkingLevel: optionalText,
    includeThoughts: optionalFlag,
  }),
)

const generationConfig = z.looseObject({
  ...withSnakeCase({
    temperature: optionalNumber,
    topP: optionalNumber,
    topK: optionalNumber,
    candidateCount: z.int().min(1).nullish(),
    maxOutputTokens: z.int().min(1).nullish(),
    stopSequences: oneOrMany(z.string()).nullish(),
    seed: optionalInteger,
    presencePenalty: optionalNumber,
    frequencyPenalty: optionalNumber,
    responseLogprobs: optionalFlag,
    logprobs: optionalInteger,
    responseMimeType: optionalText,
    responseSchema: optionalObject,
    responseJsonSchema: optionalObject,
    thinkingConfig: thinkingConfig.nullish(),
    responseModalities: oneOrMany(z.string()).nullish(),
    speechConfig: optionalObject,
    imageConfig: optionalObject,
    mediaResolution: optionalText,
  }),
  // The old name of `responseJsonSchema`.
  _responseJsonSchema: optionalObject,
})

const safetySetting = z.looseObject({ category: optionalText, threshold: optionalText })

/** A request in the generateContent format. Unknown fields pass. */
export const geminiBody = z
  .looseObject({
    ...sharedFields,
    ...withSnakeCase({
      contents: oneOrMany(content)
        .refine((contents) => contents.length > 0, 'must not be empty')
        .meta({ override: { minItems: 1 } }),
      systemInstruction: systemInstruction.nullish(),
      tools: oneOrMany(tool).nullish(),
      toolConfig: toolConfig.nullish(),
      generationConfig: generationConfig.nullish(),
      safetySettings: oneOrMany(safetySetting).nullish(),
      cachedContent: optionalText,
      serviceTier: optionalText,
    }),
    model: z.string().min(1).optional(),
    labels: z.record(z.string(), z.string()).nullish(),
    user: z.string().optional(),
  })
  .meta({ id: 'GeminiRequest' })
