import { join } from 'node:path'
import type { Gateway } from '../gateway/gateway.ts'
import type { BucketSettings } from '../gateway/settings.ts'
import type { BlobStore } from '../platform/files/blob-store.ts'
import { DiskStore } from '../platform/files/disk-store.ts'
import { S3Store } from '../platform/files/s3-store.ts'
import type { StoredFile } from './stored-files.ts'

type StorageParts = Pick<Gateway, 'config' | 'settings'>

/** `storage` of a file whose bytes are in the bucket; without it they are on the disk. */
const inBucket = 'bucket'

/** The folder in which uploads arrive, and which has the bytes of files without a bucket. */
export function resolveFilesFolder({ config }: Pick<Gateway, 'config'>): string {
  return join(config.dataDir, 'files')
}

/** The store for new files, and what their rows say about it. */
export function currentStore(parts: StorageParts): { storage: StoredFile['storage']; store: BlobStore } {
  const { s3 } = parts.settings.files
  return s3 ? { storage: inBucket, store: openBucket(s3) } : { storage: null, store: openDisk(parts) }
}

/** Files stay where they were stored when the setting changes. */
export function storeOf(parts: StorageParts, { storage }: Pick<StoredFile, 'storage'>): BlobStore {
  if (storage !== inBucket) return openDisk(parts)
  const { s3 } = parts.settings.files
  if (s3) return openBucket(s3)
  throw new Error('the file is in a bucket, and headgate.yaml no longer has files.s3')
}

/** The bucket; null without `files.s3`. */
export function findBucket({ settings }: Pick<Gateway, 'settings'>): S3Store | null {
  const { s3 } = settings.files
  return s3 && openBucket(s3)
}

/** Every store that may hold bytes. */
export function listStores(parts: StorageParts): BlobStore[] {
  const { s3 } = parts.settings.files
  return s3 ? [openDisk(parts), openBucket(s3)] : [openDisk(parts)]
}

function openDisk(parts: StorageParts): BlobStore {
  return new DiskStore(resolveFilesFolder(parts))
}

const buckets = new WeakMap<BucketSettings, S3Store>()

/** Opened again when headgate.yaml is reloaded. */
function openBucket(settings: BucketSettings): S3Store {
  const opened = buckets.get(settings)
  if (opened) return opened
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, ...rest } = settings
  const store = new S3Store({ ...rest, accessKeyId, secretAccessKey })
  buckets.set(settings, store)
  return store
}
