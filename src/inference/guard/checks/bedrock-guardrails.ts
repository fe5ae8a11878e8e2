import { AwsV4Signer } from 'aws4fetch'
import { z } from 'zod'
import { secretField, urlField } from '../../../delivery/destinations/destination.ts'
import type { Span } from '../../../governance/filters/detector.ts'
import { asObject, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import {
  buildVerdict,
  defineCheckService,
  labelOf,
  listObjects,
  ReplyFormatError,
  requireObject,
  trimSlash,
} from './service.ts'

const fields = {
  region: z.string().regex(/^[a-z0-9-]{1,30}$/, 'must be a region such as eu-west-1'),
  /** An address other than that of the region, such as a VPC endpoint. */
  url: urlField.optional(),
  guardrail_id: z
    .string()
    .regex(/^[a-z0-9]+$|^arn:[\w:/-]{1,200}$/, 'must be the id or the ARN of a guardrail'),
  guardrail_version: z.string().regex(/^(?:[1-9]\d{0,7}|DRAFT)$/, 'must be a version or DRAFT'),
  api_key: secretField.optional(),
  access_key_id: secretField.optional(),
  secret_access_key: secretField.optional(),
  session_token: secretField.optional(),
}

type Config = z.output<z.ZodObject<typeof fields>>

/** Amazon Bedrock Guardrails: a guardrail of AWS applied to texts, whatever the model. */
export const bedrockGuardrails = defineCheckService({
  type: 'bedrock-guardrails',
  name: 'Amazon Bedrock Guardrails',
  fields,
  secrets: ['api_key', 'access_key_id', 'secret_access_key', 'session_token'],
  address: 'url',
  canRedact: true,
  maxCharacters: 25_000,
  target: addressOf,
  findProblem: ({ api_key, access_key_id, secret_access_key }) =>
    api_key !== undefined || (access_key_id !== undefined && secret_access_key !== undefined)
      ? undefined
      : 'needs api_key, or access_key_id and secret_access_key',
  check: async (config, { text, direction }, post) => {
    const { guardrail_id, guardrail_version } = config
    const path = `/guardrail/${encodeURIComponent(guardrail_id)}/version/${guardrail_version}/apply`
    const url = `${addressOf(config)}${path}`
    const body = JSON.stringify({
      source: direction === 'input' ? 'INPUT' : 'OUTPUT',
      content: [{ text: { text } }],
    })
    const reply = requireObject(await post({ url, body, headers: await authorize(config, url, body) }))
    if (reply.action !== 'GUARDRAIL_INTERVENED' && reply.action !== 'NONE')
      throw new ReplyFormatError('not an action')
    const found = listObjects(reply.assessments).flatMap(listFindings)
    const isFlagged = reply.action === 'GUARDRAIL_INTERVENED'
    const canReplace = found.every(({ action }) => action === 'ANONYMIZED')
    return buildVerdict(
      isFlagged,
      isFlagged ? found.map(({ kind }) => kind) : [],
      isFlagged && canReplace ? found.flatMap((finding) => locate(finding, text)) : [],
    )
  },
})

function addressOf({ url, region }: Pick<Config, 'url' | 'region'>): string {
  return trimSlash(url ?? `https://bedrock-runtime.${region}.amazonaws.com`)
}

async function authorize(config: Config, url: string, body: string): Promise<Record<string, string>> {
  const { api_key, access_key_id, secret_access_key, session_token, region } = config
  if (api_key !== undefined) return { authorization: `Bearer ${api_key}` }
  const signer = new AwsV4Signer({
    method: 'POST',
    url,
    body,
    region,
    service: 'bedrock',
    headers: { 'content-type': 'application/json' },
    accessKeyId: access_key_id ?? '',
    secretAccessKey: secret_access_key ?? '',
    ...(session_token !== undefined && { sessionToken: session_token }),
  })
  const { headers } = await signer.sign()
  return Object.fromEntries(headers)
}

interface Finding {
  kind: unknown
  action: unknown
  match: string | undefined
}

/** The lists of each policy of an assessment. */
const policies = {
  contentPolicy: ['filters'],
  contextualGroundingPolicy: ['filters'],
  sensitiveInformationPolicy: ['piiEntities', 'regexes'],
  topicPolicy: ['topics'],
  wordPolicy: ['customWords', 'managedWordLists'],
}

/** What a guardrail has acted on. */
function listFindings(assessment: JsonObject): Finding[] {
  return Object.entries(policies).flatMap(([policy, lists]) =>
    lists.flatMap((list) =>
      listObjects(asObject(assessment[policy])?.[list])
        .filter(({ action }) => action !== 'NONE')
        .map(({ action, match, name, type }) => ({
          kind: asString(type) ?? asString(name) ?? 'word',
          action,
          match: asString(match),
        })),
    ),
  )
}

/** Every place of a match: the service returns the text of it. */
function locate({ kind, match }: Finding, text: string): Span[] {
  const spans: Span[] = []
  if (!match) return spans
  for (let start = text.indexOf(match); start !== -1; start = text.indexOf(match, start + match.length))
    spans.push({ start, end: start + match.length, label: labelOf(kind) })
  return spans
}
