import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { WarningIcon } from '../../../components/icons.tsx'
import { MemberSelect } from '../../../components/member-select.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { useMemberNames } from '../../../components/use-members.ts'
import { connectionsOptions, policyOptions, useSsoRefresh } from './queries.ts'

type Policy = Schemas['SsoPolicy']

/** Shows and changes whether single sign-on is the only way to sign in. */
export function Enforcement() {
  const query = useQuery(policyOptions)
  return (
    <Panel
      title="Enforcement"
      description="Members can then sign in only with a connection, not with passwords, passkeys or links. API keys keep working."
    >
      <QueryView query={query}>
        {({ data }) => <PolicyForm key={JSON.stringify(data)} policy={data} />}
      </QueryView>
    </Panel>
  )
}

function PolicyForm({ policy }: { policy: Policy }) {
  const mayChange = mayDoEverywhere(useSession(), 'sso:write')
  const refresh = useSsoRefresh()
  const [ids, setIds] = useState(policy.break_glass_user_ids)
  const [isAsking, setAsking] = useState(false)
  const nameOf = useMemberNames(policy.break_glass_user_ids)
  const hasConnection = (useQuery(connectionsOptions).data?.data.length ?? 0) > 0
  const isChanged = ids.join() !== policy.break_glass_user_ids.join()
  const save = async (body: Partial<Policy>) => {
    await client.PATCH('/organization/sso', { body })
    await refresh()
  }
  return (
    <Stack gap="sm">
      <Text size="sm" fw={600}>
        {policy.enforced ? 'Single sign-on is enforced.' : 'Single sign-on is not enforced.'}
      </Text>
      {mayChange ? (
        <MemberSelect
          label="Admins who may use other methods"
          description="Break-glass access if the provider is down. Enforcement requires at least one admin."
          onlyAdmins
          value={ids}
          onChange={setIds}
        />
      ) : (
        <Text size="sm">Admins who may use other methods: {ids.map(nameOf).join(', ') || 'none'}</Text>
      )}
      {ids.length === 0 && (
        <Alert color="orange" icon={<WarningIcon />} title="No member could sign in if the provider fails">
          Choose at least one admin, such as the owner, who may sign in with other methods.
        </Alert>
      )}
      {!hasConnection && <Text size="sm">Add a connection before you enforce it.</Text>}
      {mayChange && (
        <Group>
          <ActionButton disabled={!isChanged} onAction={() => save({ break_glass_user_ids: ids })}>
            Save the admins
          </ActionButton>
          {policy.enforced ? (
            <ActionButton onAction={() => save({ enforced: false })}>Stop enforcing</ActionButton>
          ) : (
            <Button
              size="xs"
              color="red"
              variant="outline"
              disabled={ids.length === 0 || !hasConnection}
              onClick={() => setAsking(true)}
            >
              Enforce single sign-on
            </Button>
          )}
        </Group>
      )}
      {isAsking && (
        <ConfirmEnforcement
          breakGlassIds={ids}
          onConfirm={() => save({ enforced: true, break_glass_user_ids: ids })}
          onClose={() => setAsking(false)}
        />
      )}
    </Stack>
  )
}

interface ConfirmEnforcementProps {
  breakGlassIds: string[]
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

function ConfirmEnforcement({ breakGlassIds, onConfirm, onClose }: ConfirmEnforcementProps) {
  const { member, method, organization } = useSession()
  const endsOwnSession = method !== 'oidc' && !breakGlassIds.includes(member.id)
  return (
    <ConfirmByName
      title="Enforce single sign-on"
      name={organization.name}
      action="Enforce"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">
          Members who signed in with another method are signed out at once. First sign in with a connection
          yourself to verify that it works.
        </Text>
        {endsOwnSession && (
          <Alert color="orange" icon={<WarningIcon />} title="You are signed out too">
            You did not sign in with a connection, and you are not among the chosen admins.
          </Alert>
        )}
      </Stack>
    </ConfirmByName>
  )
}
