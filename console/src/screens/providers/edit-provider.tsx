import { MultiSelect, PasswordInput, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { providerFormats, type WireFormat } from '../../components/add-provider/provider-formats.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { JsonFields, parseJsonObject } from '../../components/json-fields.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'

type Edit = Schemas['ProviderEdit']

interface EditProviderProps {
  provider: Schemas['CatalogueProvider']
  onClose: () => void
}

/** Edits a provider. An edit has only the fields that differ, so those left empty are not sent. */
export function EditProvider({ provider, onClose }: EditProviderProps) {
  const queryClient = useQueryClient()
  const { name = '', base_url = '', api_key = '', dialects = [], ...others } = provider.edit?.fields ?? {}
  const { slug, in_force: now } = provider
  const [draft, setDraft] = useState({ name, base_url, api_key, dialects })
  const [rest, setRest] = useState(Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : '')
  const parsed = parseJsonObject(rest)
  const set = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    const body = { ...parsed, ...withoutEmpty(draft) } as Edit
    await client.PUT('/catalogue/providers/{slug}', { params: { path: { slug } }, body })
    await refreshCatalog(queryClient)
  }
  return (
    <FormDialog
      title={`Edit ${now?.name ?? slug}`}
      action="Save"
      isReady={parsed !== null}
      onSubmit={save}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        Empty fields keep their value.
      </Text>
      <TextInput
        label="Name"
        placeholder={now?.name ?? slug}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Address"
        description="The base URL of the API"
        placeholder={now?.base_url ?? ''}
        value={draft.base_url}
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
        data={providerFormats}
        value={draft.dialects}
        onChange={(dialects) => set({ dialects: dialects as WireFormat[] })}
      />
      <JsonFields value={rest} onChange={setRest} placeholder='{"regions": ["europe"]}' />
    </FormDialog>
  )
}

function withoutEmpty(fields: Record<string, string | string[]>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value.length > 0))
}
