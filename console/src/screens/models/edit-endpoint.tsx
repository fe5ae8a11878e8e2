import { NumberInput, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { JsonFields, parseJsonObject } from '../../components/json-fields.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'
import { endpointWithoutEdit } from './endpoint-tag.ts'
import { priceDraftOf, pricingOf } from './price-draft.ts'
import { PriceFields } from './price-fields.tsx'
import { ProviderSelect } from './provider-select.tsx'

interface EditEndpointProps {
  model: Schemas['CatalogueModel']
  /** Null to add one. */
  tag: string | null
  onClose: () => void
}

/** Adds an endpoint, or edits one. An edit has only the fields that differ. */
export function EditEndpoint({ model, tag, onClose }: EditEndpointProps) {
  const queryClient = useQueryClient()
  const fields = model.endpoint_edits.find((edit) => edit.tag === tag)?.fields ?? {}
  const { pricing, upstream_model = '', context_length, ...others } = fields
  const beneath = tag === null ? null : endpointWithoutEdit(model, tag)
  const [provider, setProvider] = useState(tag)
  const [upstream, setUpstream] = useState(upstream_model)
  const [context, setContext] = useState<number | null>(context_length ?? null)
  const [prices, setPrices] = useState(() => priceDraftOf(pricing))
  const [rest, setRest] = useState(Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : '')
  const parsed = parseJsonObject(rest)
  const edited = pricingOf(prices, { edited: pricing, beneath: beneath?.pricing })
  const [author = '', ...slug] = model.id.split('/')
  const save = async () => {
    if (provider === null) return
    const body = {
      ...parsed,
      ...(upstream && { upstream_model: upstream }),
      ...(context !== null && { context_length: context }),
      ...(edited && { pricing: edited }),
    }
    const path = { author, slug: slug.join('/'), tag: provider }
    await client.PUT('/catalogue/models/{author}/{slug}/endpoints/{tag}', { params: { path }, body })
    await refreshCatalog(queryClient)
  }
  return (
    <FormDialog
      title={tag === null ? 'Add an endpoint' : `Edit ${tag}`}
      action="Save"
      isReady={provider !== null && parsed !== null && edited !== null && (tag !== null || upstream !== '')}
      onSubmit={save}
      onClose={onClose}
    >
      {tag === null ? (
        <ProviderSelect value={provider} onChange={setProvider} />
      ) : (
        <Text size="sm" c="dimmed">
          Empty fields keep their value.
        </Text>
      )}
      <TextInput
        label="Provider model"
        description="The model name at the provider"
        placeholder={beneath?.upstream_model ?? ''}
        value={upstream}
        required={tag === null}
        onChange={(event) => setUpstream(event.currentTarget.value)}
      />
      <PriceFields value={prices} placeholders={priceDraftOf(beneath?.pricing)} onChange={setPrices} />
      <NumberInput
        label="Context"
        description="Prompt and reply together, in tokens"
        min={1}
        thousandSeparator=","
        placeholder={beneath?.context_length?.toString() ?? ''}
        value={context ?? ''}
        onChange={(value) => setContext(typeof value === 'number' ? value : null)}
      />
      <JsonFields value={rest} onChange={setRest} placeholder='{"quantization": "fp8"}' />
    </FormDialog>
  )
}
