import { z } from 'zod'
import { secretField, urlField } from '../../../delivery/destinations/destination.ts'
import { omitUndefined } from '../../../platform/json/json-values.ts'
import {
  buildVerdict,
  type CheckRequest,
  defineCheckService,
  listObjects,
  type PostFn,
  ReplyFormatError,
  requireBoolean,
  requireObject,
  trimSlash,
} from './service.ts'

const apiVersion = '2024-09-01'

/** Azure AI Content Safety: harm categories and block lists of texts, and attacks in prompts. */
export const azureContentSafety = defineCheckService({
  type: 'azure-content-safety',
  name: 'Azure AI Content Safety',
  fields: {
    url: urlField,
    api_key: secretField,
    categories: z
      .array(z.enum(['Hate', 'SelfHarm', 'Sexual', 'Violence']))
      .min(1)
      .optional(),
    /** Severities are 0, 2, 4 and 6. */
    min_severity: z.int().min(1).max(6).default(4),
    blocklists: z.array(z.string().min(1).max(100)).min(1).max(20).optional(),
    prompt_shields: z.boolean().default(true),
  },
  secrets: ['api_key'],
  address: 'url',
  canRedact: false,
  maxCharacters: 10_000,
  target: ({ url }) => url,
  check: async ({ url, api_key, ...options }, { text, direction }, post) => {
    const buildRequest = (operation: string, body: object): CheckRequest => ({
      url: `${trimSlash(url)}/contentsafety/text:${operation}?api-version=${apiVersion}`,
      headers: { 'ocp-apim-subscription-key': api_key },
      body: JSON.stringify(omitUndefined({ ...body })),
    })
    const { categories, blocklists: blocklistNames, min_severity, prompt_shields } = options
    const analysis = buildRequest('analyze', { text, categories, blocklistNames })
    const shield = buildRequest('shieldPrompt', { userPrompt: text, documents: [] })
    const hasShield = prompt_shields && direction === 'input'
    const [kinds, attacks] = await Promise.all([
      analyze(post, analysis, min_severity),
      hasShield ? findAttack(post, shield) : [],
    ])
    const all = [...kinds, ...attacks]
    return buildVerdict(all.length > 0, all)
  },
})

async function analyze(post: PostFn, request: CheckRequest, minSeverity: number): Promise<unknown[]> {
  const { categoriesAnalysis, blocklistsMatch } = requireObject(await post(request))
  if (!Array.isArray(categoriesAnalysis)) throw new ReplyFormatError('not a list')
  const severe = listObjects(categoriesAnalysis).filter(({ severity }) => Number(severity) >= minSeverity)
  const listed = listObjects(blocklistsMatch)
  return [...severe.map(({ category }) => category), ...listed.map(({ blocklistName }) => blocklistName)]
}

async function findAttack(post: PostFn, request: CheckRequest): Promise<string[]> {
  const { userPromptAnalysis } = requireObject(await post(request))
  return requireBoolean(requireObject(userPromptAnalysis).attackDetected) ? ['prompt_attack'] : []
}
