import { Fieldset, MultiSelect, SimpleGrid, TagsInput } from '@mantine/core'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { KeySelect } from '../../components/key-select.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { ModelsInput, ProvidersInput } from '../../components/names-input.tsx'
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
          <ModelsInput
            placeholder="openai/*"
            value={draft.models}
            onChange={(models) => onChange({ models })}
          />
          <ProvidersInput
            placeholder="azure"
            value={draft.providers}
            onChange={(providers) => onChange({ providers })}
          />
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
