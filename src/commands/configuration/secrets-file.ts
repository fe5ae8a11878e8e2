import { open } from 'node:fs/promises'
import type { NewSecret } from './apply.ts'

/** Only the owner of the file can read it, also if it existed with other permissions. */
export async function appendSecret(path: string, secret: NewSecret): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.chmod(0o600)
    await file.appendFile(`${JSON.stringify(secret)}\n`)
  } finally {
    await file.close()
  }
}
