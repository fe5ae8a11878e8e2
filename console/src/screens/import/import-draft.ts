import type { Schemas } from '../../api/client.ts'

type ImportRequest = Schemas['ImportRequest']
type Source = Schemas['ImportReport']['source']

export interface ImportDraft {
  files: File[]
  /** Instead of a file. */
  text: string
  /** Null: recognized by the contents. */
  source: Source | null
  /** Lines of `NAME=value`. */
  variables: string
  secret: string
}

export const emptyImportDraft: ImportDraft = { files: [], text: '', source: null, variables: '', secret: '' }

export const sources: { value: Source; label: string }[] = [
  { value: 'litellm', label: 'LiteLLM' },
  { value: 'new-api', label: 'new-api' },
  { value: 'one-api', label: 'One API' },
  { value: 'bifrost', label: 'Bifrost' },
  { value: 'openrouter', label: 'OpenRouter' },
  { value: 'portkey', label: 'Portkey' },
  { value: 'cloudflare', label: 'Cloudflare AI Gateway' },
  { value: 'helicone', label: 'Helicone' },
  { value: 'keys', label: 'Keys in CSV or JSON Lines' },
]

export function nameSource(source: Source): string {
  return sources.find(({ value }) => value === source)?.label ?? source
}

export function isComplete({ files, text }: ImportDraft): boolean {
  return files.length > 0 || text.trim() !== ''
}

/** The secrets in it are sent twice, for the plan and the import, and stored nowhere in the page. */
export async function toRequest({
  files,
  text,
  source,
  variables,
  secret,
}: ImportDraft): Promise<ImportRequest> {
  const uploaded = await Promise.all(files.map(encodeFile))
  const pasted = text.trim() === '' ? [] : [{ name: 'pasted', content: text, encoding: 'text' as const }]
  const named = parseVariables(variables)
  return {
    files: [...uploaded, ...pasted],
    variables: named,
    ...(source && { source }),
    ...(secret !== '' && { secret }),
  }
}

/** Base64, because a file may be a database. */
async function encodeFile(file: File): Promise<ImportRequest['files'][number]> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const parts: string[] = []
  const step = 0x8000
  for (let at = 0; at < bytes.length; at += step)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + step)))
  return { name: file.name, content: btoa(parts.join('')), encoding: 'base64' }
}

export function parseVariables(text: string): Record<string, string> {
  const entries = text.split('\n').flatMap((line) => {
    const [, name, value] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    return name === undefined || value === undefined
      ? []
      : [[name, value.replace(/^(["'])(.*)\1$/, '$2')] as const]
  })
  return Object.fromEntries(entries)
}
