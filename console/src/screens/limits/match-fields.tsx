import { Fieldset, MultiSelect, SimpleGrid, TagsInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { KeySelect } from '../../components/key-select.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { modelsOf } from '../../components/model-picker.tsx'
import { TextField } from '../../components/text-field.tsx'
import { TierSelect } from '../../components/tier-select.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'
import type { LimitDraft } from './draft.ts'
import { dimensionOptions } from './limit-words.ts'

interface MatchFieldsProps {
  draft: LimitDraft
  onChange: (changes: Partial<LimitDraft>) => void
}

/** The requests that a limit counts, and what it counts separately. */
export function MatchFields({ draft, onChange }: MatchFieldsProps) {
  return (
    <>
      <Fieldset legend="Requests that match all of these">
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <OwnerFields draft={draft} onChange={onChange} />
          <TextField
            label="End user"
            placeholder="Any"
            maxLength={256}
            value={draft.endUser}
            onChange={(endUser) => onChange({ endUser })}
          />
          <TagsInput
            label="Tags"
            placeholder={draft.tags.length === 0 ? 'project=apollo' : ''}
            acceptValueOnBlur
            maxTags={100}
            value={draft.tags}
            onChange={(tags) => onChange({ tags })}
          />
          <ModelsInput value={draft.models} onChange={(models) => onChange({ models })} />
          <ProvidersInput value={draft.providers} onChange={(providers) => onChange({ providers })} />
        </SimpleGrid>
      </Fieldset>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <MultiSelect
          label="Count separately for each"
          placeholder={draft.per.length === 0 ? 'Count together' : ''}
          data={dimensionOptions}
          maxValues={3}
          value={draft.per}
          onChange={(per) => onChange({ per })}
        />
        <TextField
          label="Tag to count separately"
          placeholder="project"
          maxLength={64}
          value={draft.perTag}
          onChange={(perTag) => onChange({ perTag })}
        />
      </SimpleGrid>
    </>
  )
}

function OwnerFields({ draft, onChange }: MatchFieldsProps) {
  const session = useSession()
  return (
    <>
      <WorkspaceSelect
        label="Workspace"
        // A limit of the whole organization can be created by those who may write everywhere.
        placeholder={mayDoEverywhere(session, 'budgets:write') ? 'Any' : 'Choose a workspace'}
        value={draft.workspaceId}
        onChange={(workspaceId) => onChange({ workspaceId, keyHash: null })}
      />
      {mayDo(session, 'members:read') && (
        <MemberSelect
          label="Member"
          value={draft.userId === null ? [] : [draft.userId]}
          onChange={(ids) => onChange({ userId: ids.at(-1) ?? null })}
        />
      )}
      {mayDo(session, 'keys:read') && (
        <KeySelect
          label="API key"
          placeholder="Any"
          clearable
          workspaceId={draft.workspaceId}
          value={draft.keyHash}
          onChange={(keyHash) => onChange({ keyHash })}
        />
      )}
      <TierSelect placeholder="Any" value={draft.tier} onChange={(tier) => onChange({ tier })} />
    </>
  )
}

interface ValuesProps {
  value: string[]
  onChange: (values: string[]) => void
}

function ModelsInput({ value, onChange }: ValuesProps) {
  const isAllowed = mayDo(useSession(), 'models:read')
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed, 200)
  const options = api.queryOptions('get', '/models', {
    params: { query: { limit: 30, ...(search && { q: search }) } },
  })
  const { data } = useQuery({ ...options, enabled: isAllowed, placeholderData: keepPreviousData })
  return (
    <TagsInput
      label="Models"
      placeholder={value.length === 0 ? 'openai/*' : ''}
      acceptValueOnBlur
      maxTags={100}
      data={modelsOf(data).map(({ id }) => id)}
      onSearchChange={setTyped}
      value={value}
      onChange={onChange}
    />
  )
}

function ProvidersInput({ value, onChange }: ValuesProps) {
  const isAllowed = mayDo(useSession(), 'models:read')
  const { data } = useQuery({ ...api.queryOptions('get', '/providers'), enabled: isAllowed })
  return (
    <TagsInput
      label="Providers"
      placeholder={value.length === 0 ? 'azure' : ''}
      acceptValueOnBlur
      maxTags={100}
      limit={30}
      data={(data?.data ?? []).map(({ slug }) => slug)}
      value={value}
      onChange={onChange}
    />
  )
}
