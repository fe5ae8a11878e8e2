import { z } from 'zod'
import { hasOutput } from '../../catalog/model.ts'
import { imageOptionFields } from '../../formats/images/schema.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { listUsableModels } from '../plan/model-access.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome, messageOf } from './failure.ts'
import {
  defineServerTool,
  type ToolInstance,
  type ToolOutcome,
  type ToolRun,
  type ToolSetup,
} from './tool.ts'
import { vendorImageType } from './vendor-model-tools.ts'

const { size, resolution, aspect_ratio, quality, background, output_format, output_compression, seed } =
  imageOptionFields

const parameters = z.strictObject({
  model: z.string().min(1).max(256).optional(),
  ...{ size, resolution, aspect_ratio, quality, background, output_format, output_compression, seed },
  moderation: z.enum(['auto', 'low']).optional(),
})

type ImageParameters = z.output<typeof parameters>

/** Generates an image with a model for images. */
export const imageGeneration = defineServerTool({
  name: 'image_generation',
  formats: ['chat', 'messages', 'responses'],
  isGlobal: true,
  parameters,
  create: async (settings, setup) => {
    const model = settings.model ?? (await findDefaultModel(setup))
    return createImageTool({ ...settings, model }, setup.entry.type === vendorImageType)
  },
})

/** The newest model for images that the key can use. */
async function findDefaultModel(setup: ToolSetup): Promise<string> {
  const usable = await listUsableModels(
    setup,
    (model) => hasOutput(model, 'image') && model.endpoints.some((endpoint) => endpoint.image !== null),
  )
  const [newest] = usable.toSorted((a, b) => b.listed_at - a.listed_at)
  if (newest) return newest.id
  throw invalidFieldError(`${setup.at}.parameters.model`, 'is required: this key can use no model for images')
}

/** The tool of the Responses format has items and events of its own. */
function createImageTool(settings: ImageParameters & { model: string }, isVendorTool: boolean): ToolInstance {
  const type = isVendorTool ? 'image_generation_call' : 'service:image_generation'
  return {
    costs: { image: { ...settings, prompt: '', n: 1 } },
    functions: [
      {
        kind: 'function',
        name: 'image_generation',
        description: 'Generate an image from a description. The user is shown the image.',
        schema: {
          type: 'object',
          properties: { prompt: { type: 'string', description: 'What the image shows.' } },
          required: ['prompt'],
        },
      },
    ],
    describe: ({ arguments: text }) => ({
      item: omitUndefined({
        type,
        prompt: asString(parseArguments(text).prompt),
        ...(isVendorTool && { result: null }),
      }),
      ...(isVendorTool && { progress: vendorProgress }),
    }),
    run: (_call, run) => generate(settings, run, isVendorTool),
  }
}

const vendorProgress = {
  start: ['image_generation_call.in_progress', 'image_generation_call.generating'],
  completed: 'image_generation_call.completed',
}

async function generate(
  settings: ImageParameters,
  run: ToolRun,
  isVendorTool: boolean,
): Promise<ToolOutcome> {
  const prompt = asString(run.input.prompt) ?? ''
  const failedStatus = isVendorTool ? 'failed' : 'incomplete'
  if (prompt.trim() === '') return failedOutcome('prompt: is required', {}, failedStatus)
  try {
    const fields: JsonObject = { ...settings, prompt, n: 1 }
    const { image } = await run.generateImage({ fields, signal: run.signal })
    const { data, mediaType, revisedPrompt } = image
    const shown = revisedPrompt === undefined ? '' : ` It was generated from: ${revisedPrompt}`
    return {
      content: [{ kind: 'text', text: `The image was generated, and the user sees it.${shown}` }],
      item: omitUndefined({
        ...(isVendorTool ? { result: data } : { imageB64: data, revisedPrompt }),
        prompt,
        status: 'completed',
      }),
      // The items of the Responses format have the image already.
      ...(run.format !== 'responses' && {
        parts: [{ kind: 'image' as const, source: { kind: 'data' as const, mediaType, data } }],
      }),
    }
  } catch (error) {
    return failedOutcome(`The image was not generated: ${messageOf(error)}`, { prompt }, failedStatus)
  }
}
