import { Alert, Button, Group, Stack, TagsInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { WarningIcon } from '../../components/icons.tsx'
import { Panel } from '../../components/panel.tsx'
import { PrivacySwitches } from '../../components/privacy-switches.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { buildChanges, draftOf, type Privacy, type PrivacyDraft } from './privacy-draft.ts'

export const privacyOptions = api.queryOptions('get', '/organization/privacy')

/** Edits which endpoints may see prompts, and locks the settings against weakening. */
export function PrivacySettings() {
  const query = useQuery(privacyOptions)
  const mayChange = mayDoEverywhere(useSession(), 'privacy:write')
  const privacy = query.data?.data
  return (
    <Panel
      title="Privacy"
      description="Which endpoints may receive your prompts. Workspaces, keys and members can only be stricter."
      actions={mayChange && privacy && <LockButton privacy={privacy} />}
    >
      <QueryView query={query}>
        {({ data }) => <PrivacyForm key={JSON.stringify(data)} privacy={data} mayChange={mayChange} />}
      </QueryView>
    </Panel>
  )
}

function useSave() {
  const refresh = useRefresh()
  return async (body: Partial<Privacy>) => {
    await client.PATCH('/organization/privacy', { body })
    await refresh('/organization/privacy')
  }
}

function LockButton({ privacy }: { privacy: Privacy }) {
  const { organization } = useSession()
  const save = useSave()
  if (!privacy.locked) return <ActionButton onAction={() => save({ locked: true })}>Lock</ActionButton>
  return (
    <DialogButton label="Unlock" color="red" variant="outline">
      {(close) => (
        <ConfirmByName
          title="Unlock the privacy settings"
          name={organization.name}
          action="Unlock"
          onConfirm={() => save({ locked: false })}
          onClose={close}
        >
          Privacy can then be weakened: here, in destinations and in workspaces.
        </ConfirmByName>
      )}
    </DialogButton>
  )
}

function PrivacyForm({ privacy, mayChange }: { privacy: Privacy; mayChange: boolean }) {
  const save = useSave()
  const [draft, setDraft] = useState(() => draftOf(privacy))
  const [error, setError] = useState<unknown>(null)
  const [isPending, setPending] = useState(false)
  const changes = buildChanges(privacy, draft)
  const submit = async () => {
    setPending(true)
    setError(null)
    try {
      await save(changes)
      notifications.show({ message: 'Saved.' })
    } catch (failure) {
      setError(failure)
    }
    setPending(false)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Stack>
        <PrivacyNotes privacy={privacy} />
        <PrivacyFields draft={draft} isDisabled={!mayChange || privacy.locked} onChange={setDraft} />
        {error !== null && <ErrorNotice error={error} />}
        {mayChange && !privacy.locked && (
          <Group>
            <Button type="submit" disabled={Object.keys(changes).length === 0} loading={isPending}>
              Save
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  )
}

function PrivacyNotes({ privacy }: { privacy: Privacy }) {
  return (
    <>
      {privacy.locked && (
        <Alert color="blue" title="Locked">
          Nothing here can be changed, and no destination or workspace can be changed to share or store more.
        </Alert>
      )}
      {privacy.dry_run && (
        <Alert color="orange" icon={<WarningIcon />} title="These settings are not enforced">
          The guardrail of the organization is in dry run: violations are recorded, and nothing is rejected.
        </Alert>
      )}
    </>
  )
}

interface PrivacyFieldsProps {
  draft: PrivacyDraft
  isDisabled: boolean
  onChange: (draft: PrivacyDraft) => void
}

function PrivacyFields({ draft, isDisabled, onChange }: PrivacyFieldsProps) {
  const providers = useQuery(api.queryOptions('get', '/providers')).data?.data ?? []
  const slugs = providers.map(({ slug }) => slug)
  const { restrictions } = draft
  return (
    <>
      <PrivacySwitches
        value={restrictions}
        isDisabled={isDisabled}
        onChange={(rule, restricts) =>
          onChange({ ...draft, restrictions: { ...restrictions, [rule]: restricts } })
        }
      />
      <TagsInput
        label="Only these providers"
        description="Leave empty to allow every provider."
        data={slugs}
        disabled={isDisabled}
        acceptValueOnBlur
        value={draft.allowedProviders}
        onChange={(allowedProviders) => onChange({ ...draft, allowedProviders })}
      />
      <TagsInput
        label="Exclude providers"
        data={slugs}
        disabled={isDisabled}
        acceptValueOnBlur
        value={draft.ignoredProviders}
        onChange={(ignoredProviders) => onChange({ ...draft, ignoredProviders })}
      />
    </>
  )
}
