import { NumberInput, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'
import { priceDraftOf, pricingOf } from './price-draft.ts'
import { PriceFields } from './price-fields.tsx'
import { ProviderSelect } from './provider-select.tsx'

const idPattern = /^([A-Za-z0-9][\w.-]*)\/([A-Za-z0-9][\w.:-]*)$/

/** Adds a model at a provider of the catalog. */
export function AddModel({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [draft, setDraft] = useState({ id: '', name: '', upstream: '', context: null as number | null })
  const [provider, setProvider] = useState<string | null>(null)
  const [prices, setPrices] = useState(() => priceDraftOf(undefined))
  const [, author = '', slug = ''] = idPattern.exec(draft.id) ?? []
  const pricing = pricingOf(prices, { edited: undefined, beneath: undefined })
  const set = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    if (provider === null) return
    const endpoint = {
      provider,
      upstream_model: draft.upstream || slug,
      prompt_unit: 'token' as const,
      ...(pricing && { pricing }),
    }
    const body = {
      name: draft.name || draft.id,
      endpoints: [endpoint],
      ...(draft.context !== null && { context_length: draft.context }),
    }
    await client.PUT('/catalogue/models/{author}/{slug}', { params: { path: { author, slug } }, body })
    await refreshCatalog(queryClient)
    void navigate({ to: '/models/$author/$slug', params: { author, slug } })
  }
  return (
    <FormDialog
      title="Add a model"
      action="Add the model"
      isReady={slug !== '' && provider !== null && pricing !== null}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label="Id"
        description="The name in requests, as author/model"
        placeholder="acme/fast-1"
        value={draft.id}
        required
        data-autofocus
        error={draft.id !== '' && slug === '' ? 'An id such as acme/fast-1' : null}
        onChange={(event) => set({ id: event.currentTarget.value })}
      />
      <TextInput
        label="Name"
        placeholder={draft.id}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <ProviderSelect value={provider} onChange={setProvider} />
      <TextInput
        label="Provider model"
        description="The model name at the provider"
        placeholder={slug}
        value={draft.upstream}
        onChange={(event) => set({ upstream: event.currentTarget.value })}
      />
      <PriceFields value={prices} onChange={setPrices} />
      <NumberInput
        label="Context"
        description="Prompt and reply together, in tokens"
        min={1}
        thousandSeparator=","
        value={draft.context ?? ''}
        onChange={(value) => set({ context: typeof value === 'number' ? value : null })}
      />
    </FormDialog>
  )
}
