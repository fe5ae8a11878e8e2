import { AwsV4Signer } from 'aws4fetch'
import { z } from 'zod'
import type { Clock } from '../../platform/time/clock.ts'
import { credentialField } from './credential-field.ts'
import {
  type AuthContext,
  type AuthScheme,
  type HeaderMap,
  isStreamed,
  ProviderAuthError,
  type SignableRequest,
} from './scheme.ts'

export interface AccessKey {
  kind: 'access-key'
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
  region: string
}

interface AccessKeyOptions {
  scheme: 'access-key'
  /** The name of the service in the scope of a signature. */
  service: string
}

const schema = z
  .strictObject({
    accessKeyId: credentialField,
    secretAccessKey: credentialField,
    sessionToken: credentialField.optional(),
    region: credentialField.regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'must be a region such as eu-west-1'),
  })
  .transform((fields): AccessKey => ({ kind: 'access-key', ...fields }))

/** Access keys of AWS, which sign each request with Signature Version 4. */
export const accessKey: AuthScheme<AccessKey, AccessKeyOptions> = {
  kind: 'access-key',
  format: {
    label: 'Signature Version 4',
    schema,
    settingsOf: ({ region }) => ({ region }),
  },
  listSecrets: ({ secretAccessKey, sessionToken, accessKeyId }) =>
    [secretAccessKey, sessionToken, accessKeyId].filter((secret) => secret !== undefined),
  identifierOf: ({ accessKeyId }) => accessKeyId,
  createSigner: (clock) => ({
    sign: (request, credential, context) => signWithAccessKey(request, credential, context, clock),
  }),
}

/** The signature covers the method, the URL, the headers passed here and the body. */
async function signWithAccessKey(
  { method, url, headers, body }: SignableRequest,
  { accessKeyId, secretAccessKey, sessionToken, region: credentialRegion }: AccessKey,
  { options, settings }: AuthContext<AccessKeyOptions>,
  clock: Clock,
): Promise<HeaderMap> {
  if (isStreamed(body))
    throw new ProviderAuthError('A request with this credential must be signed as a whole.')
  // A proxy may change it, which would break the signature.
  const { 'accept-encoding': _encoding, ...signable } = headers
  const signer = new AwsV4Signer({
    method,
    url,
    headers: signable,
    body,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: options.service,
    region: settings.region || credentialRegion,
    datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
  })
  const signed = await signer.sign()
  return Object.fromEntries(signed.headers)
}
