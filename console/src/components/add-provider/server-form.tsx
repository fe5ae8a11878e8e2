import { Group, PasswordInput, Select, SimpleGrid, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { formatPlural } from '../../format/number.ts'
import { ActionButton } from '../action-button.tsx'
import { CredentialTestResult, useCredentialTest } from '../credential-test.tsx'
import { FormDialog } from '../form-dialog.tsx'
import { refreshCatalog } from '../refresh-catalog.ts'
import { TextField } from '../text-field.tsx'
import { OfferedModels } from './offered-models.tsx'
import { providerFormats, type WireFormat } from './provider-formats.ts'
import {
  draftModels,
  isPrice,
  type ModelDraft,
  maxChosen,
  nameOfServer,
  type OfferedModel,
  readAddress,
  type ServerDraft,
  slugOfServer,
  toModelBodies,
  toProviderBody,
} from './server-draft.ts'

interface ServerFormProps {
  /** From the search; its list of models is read at once. */
  address: string
  /** The slugs of all providers. */
  taken: ReadonlySet<string>
  onBack: () => void
  onClose: () => void
  onAdded: (slug: string) => void
}

/** Adds a server with the models of its own list. The first submit reads the list, the second one saves. */
export function ServerForm({ address, taken, onBack, onClose, onAdded }: ServerFormProps) {
  const queryClient = useQueryClient()
  const [draft, setDraft] = useState<ServerDraft>({ address, key: '', name: '', format: 'chat' })
  const [offered, setOffered] = useState<OfferedModel[] | null>(null)
  const [models, setModels] = useState<ModelDraft[]>([])
  const slug = slugOfServer(nameOfServer(draft), taken)
  const params = { path: { slug } }
  const changes = useRef(0)
  const test = useCredentialTest(async () => {
    const changesBefore = changes.current
    const { data } = await client.POST('/catalogue/providers/{slug}/inspect', {
      params,
      body: toProviderBody(draft),
    })
    // The list of an address that was changed meanwhile is that of another server.
    if (!data || changes.current !== changesBefore) return {}
    setOffered(data.data.test.ok ? data.data.models : null)
    setModels(draftModels(data.data.models))
    return { data: { data: data.data.test } }
  })
  const change = (fields: Partial<ServerDraft>) => {
    setDraft({ ...draft, ...fields })
    if (fields.name !== undefined) return
    changes.current += 1
    setOffered(null)
    test.reset()
  }
  const add = async () => {
    const provider = toProviderBody(draft)
    const chosen = toModelBodies(models, offered ?? [])
    if (chosen.length === 0) await client.PUT('/catalogue/providers/{slug}', { params, body: provider })
    else
      await client.POST('/catalogue/providers/{slug}/models', { params, body: { provider, models: chosen } })
    await refreshCatalog(queryClient)
    onAdded(slug)
  }
  const { mutateAsync } = test
  // The result of the test says why it failed.
  const readModels = useCallback(async () => void (await mutateAsync().catch(() => undefined)), [mutateAsync])
  const hasBegun = useRef(false)
  useEffect(() => {
    if (address === '' || hasBegun.current) return
    hasBegun.current = true
    void readModels()
  }, [address, readModels])
  const chosen = models.filter(({ isChosen }) => isChosen)
  const isTested = offered !== null
  const areModelsReady =
    chosen.length <= maxChosen && chosen.every(({ input, output }) => isPrice(input) && isPrice(output))
  return (
    <FormDialog
      title="Add a server"
      action={isTested ? labelOf(chosen.length) : 'Test'}
      isReady={readAddress(draft.address) !== null && !test.isPending && (!isTested || areModelsReady)}
      size="lg"
      onSubmit={isTested ? add : readModels}
      onDone={() => undefined}
      onBack={onBack}
      onClose={onClose}
    >
      <ServerFields draft={draft} slug={slug} onChange={change} />
      {test.isPending && (
        <Text size="sm" role="status">
          Reading the models of the server…
        </Text>
      )}
      {!isTested && <CredentialTestResult test={test} />}
      {!isTested && test.data && (
        <Group>
          <ActionButton onAction={add}>Add without models</ActionButton>
        </Group>
      )}
      {isTested && <OfferedModels models={models} onChange={setModels} />}
    </FormDialog>
  )
}

interface ServerFieldsProps {
  draft: ServerDraft
  slug: string
  onChange: (changes: Partial<ServerDraft>) => void
}

function ServerFields({ draft, slug, onChange }: ServerFieldsProps) {
  return (
    <>
      <TextField
        label="Address"
        description="The base URL of the API"
        placeholder="http://vllm.internal:8000/v1"
        value={draft.address}
        required
        data-autofocus
        error={
          draft.address !== '' &&
          readAddress(draft.address) === null &&
          'An address such as https://llm.example.com/v1'
        }
        onChange={(text) => onChange({ address: text })}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <PasswordInput
          label="API key"
          description="Optional. Sent to this address only."
          value={draft.key}
          autoComplete="off"
          onChange={(event) => onChange({ key: event.currentTarget.value })}
        />
        <TextField
          label="Name"
          description={`Slug: ${slug}`}
          placeholder={nameOfServer({ ...draft, name: '' })}
          value={draft.name}
          maxLength={100}
          onChange={(name) => onChange({ name })}
        />
        <Select
          label="Format"
          data={providerFormats}
          allowDeselect={false}
          value={draft.format}
          onChange={(format) => format && onChange({ format: format as WireFormat })}
        />
      </SimpleGrid>
    </>
  )
}

function labelOf(count: number): string {
  return count === 0 ? 'Add without models' : `Add with ${formatPlural(count, 'model')}`
}
