import { sha256 } from '../../../platform/crypto/crypto.ts'
import { noAccounts, noCatalog } from '../import-plan.ts'
import type { Peer } from '../peer.ts'
import { type KeyFileFormat, parseKeyFile } from './key-file.ts'

/** Keys of any gateway, in the form of `POST /keys/import`. */
export const keyFile: Peer = {
  name: 'keys',
  title: 'Keys in a file',
  reads: 'keys of any gateway from CSV or JSON Lines, with the fields of POST /keys/import',
  tables: {},
  recognizes: ({ text }) => text !== null && formatOf(text) !== null,
  translate: (documents) => {
    const lines = documents.flatMap(({ text }) =>
      text === null ? [] : parseKeyFile(text, formatOf(text) ?? 'jsonl'),
    )
    return {
      catalog: noCatalog,
      accounts: {
        ...noAccounts,
        keys: lines.flatMap((line) =>
          'key' in line
            ? [{ key: { ...line.key, hash: line.key.hash ?? sha256(line.key.secret ?? '') }, models: null }]
            : [],
        ),
      },
      skipped: lines.flatMap((line) =>
        'problem' in line
          ? [{ kind: 'key', name: line.name || `line ${line.line}`, reason: line.problem }]
          : [],
      ),
    }
  },
}

/** Null if it is neither. */
function formatOf(text: string): KeyFileFormat | null {
  const [first = ''] = text
    .replace(/^\ufeff/, '')
    .trimStart()
    .split('\n', 1)
  if (/^\{.*"(secret|hash)"\s*:/.test(first)) return 'jsonl'
  const columns = first.split(',').map((name) => name.trim().replaceAll('"', ''))
  return columns.includes('name') && (columns.includes('secret') || columns.includes('hash')) ? 'csv' : null
}
