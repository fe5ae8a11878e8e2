import { AwsV4Signer } from 'aws4fetch'
import type { AccessKey } from '../catalogue/credential.ts'
import type { HeaderMap, SignableRequest, SignInContext } from './context.ts'

/** Signature Version 4: over the method, the URL, the headers given here, and the body. */
export async function signWithAccessKey(
  { method, url, headers, body }: SignableRequest,
  { accessKeyId, secretAccessKey, sessionToken, region: credentialRegion }: AccessKey,
  { clock, service, region }: Pick<SignInContext, 'clock' | 'service' | 'region'>,
): Promise<HeaderMap> {
  // A proxy may change how it wants its answer packed.
  const { 'accept-encoding': _packing, ...signable } = headers
  const signer = new AwsV4Signer({
    method,
    url,
    headers: signable,
    body,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service,
    region: region || credentialRegion,
    datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
  })
  const signed = await signer.sign()
  return Object.fromEntries(signed.headers)
}
