import { readFileSync } from 'node:fs'
import type { Environment } from '../../config.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import {
  parseAddress,
  requestJson,
  requireVariable,
  SecretError,
  type SecretManager,
} from './secret-manager.ts'

/** HashiCorp Vault, and OpenBao, which has the same API. The path is that of the API, such as `secret/data/headgate`. */
export const vault: SecretManager = {
  prefix: 'vault',
  read: readSecret,
}

async function readSecret(path: string, environment: Environment): Promise<JsonObject> {
  const address = parseAddress('VAULT_ADDR', requireVariable(environment, 'VAULT_ADDR'))
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/v1/${path}`
  const namespace = environment.VAULT_NAMESPACE
  const body = await requestJson('Vault', {
    url: address,
    method: 'GET',
    headers: {
      'x-vault-token': requireVariable(environment, 'VAULT_TOKEN'),
      'x-vault-request': 'true',
      ...(namespace && { 'x-vault-namespace': namespace }),
    },
    isChosen: true,
    ca: readCertificates(environment),
  })
  const data = asObject(body.data)
  // The second version of the engine has the fields next to their metadata.
  const fields = asObject(data?.metadata) ? asObject(data?.data) : data
  if (!fields) throw new SecretError('Vault has no current version of the secret.')
  return fields
}

function readCertificates({ VAULT_CACERT: path }: Environment): string | undefined {
  if (!path) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new SecretError('VAULT_CACERT names a file that cannot be read.')
  }
}
