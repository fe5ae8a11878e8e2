import { z } from 'zod'
import { badField } from '../../errors.ts'
import { JsonError, parseJson } from '../../lib/json.ts'
import { isMasked, mask } from '../../lib/mask.ts'
import { problemsOf } from '../../lib/problems.ts'

/** Longer than any token; a service account is some 2 KiB. */
const longestToken = 16 * 1024
const longestJson = 64 * 1024

/** Before the provider is known: what holds for every credential. */
export const credentialText = z
  .string()
  .trim()
  .min(1)
  .max(longestJson)
  .describe('A token, or the JSON some providers use. Sealed at once; never shown again')

const word = z.string().min(1).max(4096)

const deployment = z.union(
  [
    z.strictObject({
      api_key: word,
      resource_name: word.regex(/^[A-Za-z0-9-]+$/, 'must be the name of a resource'),
      resource_type: word.regex(/^[a-z][a-z_]*$/, 'must be a type such as ai_foundry').optional(),
    }),
    z.strictObject({
      model_slug: word,
      endpoint_url: z.url({ protocol: /^https$/ }),
      api_key: word,
      model_id: word,
    }),
  ],
  'must have api_key and resource_name, or model_slug, endpoint_url, api_key and model_id, and no other field but resource_type',
)

const accessKey = z.strictObject({
  accessKeyId: word,
  secretAccessKey: word,
  sessionToken: word.optional(),
  region: word.regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'must be a region such as eu-west-1'),
})

const serviceAccount = z.looseObject({
  type: z.literal('service_account'),
  project_id: word,
  private_key_id: word.optional(),
  private_key: z.string().max(16384).startsWith('-----BEGIN ', 'must be a private key in PEM'),
  client_email: word,
  region: word.optional(),
  bucket: word.optional(),
})

/** Each JSON form reduces to the text its label is a snippet of. */
const formats = {
  deployments: z
    .array(deployment)
    .min(1)
    .max(100)
    .transform(([first]) => first?.api_key ?? ''),
  accessKey: accessKey.transform(({ accessKeyId }) => accessKeyId),
  serviceAccount: serviceAccount.transform(
    ({ private_key_id, private_key }) => private_key_id ?? private_key,
  ),
}

export type CredentialFormat = keyof typeof formats

/** The label of a credential that is well formed; the problem names a field, never what is in it. */
export function labelOf(text: string, format: CredentialFormat | undefined): string {
  if (isMasked(text)) throw badField('key', 'is a masked value')
  if (format && /^[[{]/.test(text)) return mask(readJson(text, format))
  if (text.length > longestToken) throw badField('key', `must have at most ${longestToken} characters`)
  if (!/^[\x20-\x7e]+$/.test(text)) throw badField('key', 'must be printable ASCII characters')
  return mask(text)
}

function readJson(text: string, format: CredentialFormat): string {
  const result = formats[format].safeParse(jsonOf(text))
  if (result.success) return result.data
  const [first] = problemsOf(result.error)
  throw badField(['key', ...(first?.path ?? [])].join('.'), first?.message ?? 'is not valid')
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw badField('key', `starts like JSON and is ${error.message}`)
    throw error
  }
}
