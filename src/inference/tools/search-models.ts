import { z } from 'zod'
import type { Model } from '../../catalog/model.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { listUsableModels } from '../plan/model-access.ts'
import { parseArguments } from './arguments.ts'
import { defineServerTool, type ToolRun } from './tool.ts'

const name = 'experimental__search_models'
const maxQueryLength = 200

/** Searches the catalog: the models that the key of the request can use. */
export const searchModels = defineServerTool({
  name,
  formats: ['chat', 'messages', 'responses'],
  parameters: z.strictObject({ max_results: z.int().min(1).max(20).default(5) }),
  create: ({ max_results }) => ({
    functions: [
      {
        kind: 'function',
        name: 'search_models',
        description:
          'Search the models of this gateway by words of their name, author, description, modality or category. ' +
          'Returns slugs, prices in USD per token and context lengths.',
        schema: {
          type: 'object',
          properties: {
            query: {
              type: 'string',
              description: 'Words such as "vision", "coding" or the name of a vendor.',
            },
          },
          required: ['query'],
        },
      },
    ],
    describe: ({ arguments: text }) => ({
      item: { type: `service:${name}`, arguments: text, query: asString(parseArguments(text).query) ?? '' },
    }),
    run: async (_call, run) => {
      const query = asString(run.input.query)?.slice(0, maxQueryLength) ?? ''
      const found = await findModels(run, query, max_results)
      return {
        content: [{ kind: 'text', text: JSON.stringify({ models: found.map(describeModel) }) }],
        item: { query, status: 'completed' },
      }
    },
  }),
})

async function findModels(run: ToolRun, query: string, maxResults: number): Promise<Model[]> {
  const words = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}.]+/u)
    .filter(Boolean)
  const usable = await listUsableModels(run, () => true)
  return usable
    .map((model) => ({ model, score: scoreModel(model, words) }))
    .filter(({ score }) => score > 0 || words.length === 0)
    .sort((a, b) => b.score - a.score || b.model.listed_at - a.model.listed_at)
    .slice(0, maxResults)
    .map(({ model }) => model)
}

/** A word in the name counts more than one in the description. */
function scoreModel(
  { id, name, description, categories, ...model }: Model,
  words: readonly string[],
): number {
  const label = `${id} ${name}`.toLowerCase()
  const modalities = [...model.input_modalities, ...model.output_modalities].join(' ')
  const text = `${description} ${categories.join(' ')} ${modalities}`.toLowerCase()
  return words.reduce((sum, word) => sum + (label.includes(word) ? 3 : text.includes(word) ? 1 : 0), 0)
}

const maxDescriptionLength = 300

function describeModel({ id, name, description, context_length, top_endpoint, ...model }: Model): JsonObject {
  const { pricing } = top_endpoint
  return {
    id,
    name,
    description: description.slice(0, maxDescriptionLength),
    context_length,
    input_modalities: model.input_modalities,
    output_modalities: model.output_modalities,
    supports_tools: top_endpoint.supports.has('tools'),
    pricing: pricing && { prompt: pricing.prompt, completion: pricing.completion },
  }
}
