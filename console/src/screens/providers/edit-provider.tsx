import { MultiSelect, PasswordInput, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { JsonFields, parseJsonObject } from '../../components/json-fields.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'

type Edit = Schemas['ProviderEdit']
type WireFormat = NonNullable<Edit['dialects']>[number]

/** Formats of a provider of one's own. */
const offeredFormats: { value: WireFormat; label: string }[] = [
  { value: 'chat', label: 'Chat completions (OpenAI)' },
  { value: 'responses', label: 'Responses (OpenAI)' },
  { value: 'messages', label: 'Messages (Anthropic)' },
  { value: 'gemini', label: 'Gemini (Google)' },
  { value: 'embeddings', label: 'Embeddings' },
]

interface EditProviderProps {
  /** None to add one. */
  provider?: Schemas['CatalogueProvider']
  onClose: () => void
}

/** Adds a provider, or edits one. An edit has only the fields that differ, so those left empty are not sent. */
export function EditProvider({ provider, onClose }: EditProviderProps) {
  const queryClient = useQueryClient()
  const { name = '', base_url = '', api_key = '', dialects = [], ...others } = provider?.edit?.fields ?? {}
  const [slug, setSlug] = useState(provider?.slug ?? '')
  const [draft, setDraft] = useState({ name, base_url, api_key, dialects })
  const [rest, setRest] = useState(Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : '')
  const parsed = parseJsonObject(rest)
  const now = provider?.in_force
  const isNew = !provider
  const isReady = slug !== '' && parsed !== null && (!isNew || draft.base_url !== '')
  const set = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    const body = { ...parsed, ...withoutEmpty(draft), ...(isNew && newDefaults(draft, slug)) } as Edit
    await client.PUT('/catalogue/providers/{slug}', { params: { path: { slug } }, body })
    await refreshCatalog(queryClient)
  }
  return (
    <FormDialog
      title={isNew ? 'Add a provider' : `Edit ${now?.name ?? slug}`}
      action="Save"
      isReady={isReady}
      onSubmit={save}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        {isNew
          ? 'Any server that speaks one of these formats, such as vLLM or a gateway of your company.'
          : 'Fill in what should differ. What is left empty keeps its value.'}
      </Text>
      {isNew && (
        <TextInput
          label="Slug"
          description="Lowercase letters, digits, dots and hyphens. You cannot change it later."
          value={slug}
          required
          data-autofocus
          onChange={(event) => setSlug(event.currentTarget.value)}
        />
      )}
      <TextInput
        label="Name"
        placeholder={now?.name ?? slug}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Address"
        description="The base URL that paths are appended to"
        placeholder={now?.base_url ?? 'https://llm.example.com/v1'}
        value={draft.base_url}
        required={isNew}
        onChange={(event) => set({ base_url: event.currentTarget.value })}
      />
      <PasswordInput
        label="API key"
        description="Encrypted when stored, never shown again, and sent to this address only."
        placeholder={now?.api_key ?? ''}
        value={draft.api_key}
        autoComplete="off"
        onChange={(event) => set({ api_key: event.currentTarget.value })}
      />
      <MultiSelect
        label="Formats"
        placeholder={draft.dialects.length === 0 ? (now?.dialects?.join(', ') ?? 'chat') : ''}
        data={offeredFormats}
        value={draft.dialects}
        onChange={(dialects) => set({ dialects: dialects as WireFormat[] })}
      />
      <JsonFields value={rest} onChange={setRest} placeholder='{"regions": ["europe"]}' />
    </FormDialog>
  )
}

/** The required fields of a custom provider. */
function newDefaults({ name, dialects }: { name: string; dialects: WireFormat[] }, slug: string) {
  return { name: name || slug, dialects: dialects.length > 0 ? dialects : ['chat'] }
}

function withoutEmpty(fields: Record<string, string | string[]>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value.length > 0))
}
