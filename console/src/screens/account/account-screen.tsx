import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { client } from '../../api/client.ts'
import { useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { DisplaySection } from './display-section.tsx'
import { accountOptions, passkeysOptions, sessionsOptions } from './options.ts'
import { PasskeySection } from './passkey-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SessionSection } from './session-section.tsx'

export const screen = createLazyRoute('/account')({ component: AccountScreen })

function AccountScreen() {
  const { session_id } = useSession()
  const account = useQuery(accountOptions)
  return (
    <Page
      title="Account"
      docs="sign-in"
      description="How you sign in, and where you are signed in. Changes require a sign-in within the last 15 minutes."
      calls={[accountOptions, passkeysOptions, sessionsOptions].map(callOf)}
      actions={
        <Button variant="default" size="xs" onClick={() => void signInAgain(session_id)}>
          Sign in again
        </Button>
      }
    >
      <Stack maw={720}>
        <Profile />
        <DisplaySection />
        <QueryView query={account}>
          {({ data }) => (
            <>
              <PasswordSection updatedAt={data.password_updated_at} />
              <SecondFactorSection
                confirmedAt={data.totp_confirmed_at}
                recoveryCodesLeft={data.recovery_codes_left}
              />
            </>
          )}
        </QueryView>
        <PasskeySection />
        <SessionSection />
      </Stack>
    </Page>
  )
}

/** Signs in again, for changes that need a recent sign-in. */
async function signInAgain(sessionId: string): Promise<void> {
  await client.DELETE('/sessions/{id}', { params: { path: { id: sessionId } } })
  location.assign(new URL('signin?return_to=/account', document.baseURI))
}

const roleNames = { 'org:admin': 'Admin', 'org:member': 'Member' }

function Profile() {
  const { member, organization } = useSession()
  const facts = [
    ['Name', [member.first_name, member.last_name].filter(Boolean).join(' ') || '–'],
    ['E-mail', member.email || '–'],
    ['Role', roleNames[member.role]],
    ['Organization', organization.name],
  ]
  return (
    <Panel title="Profile" description="An admin can change your name and your role.">
      <Group gap="xl">
        {facts.map(([label, value]) => (
          <div key={label}>
            <Text size="xs" c="dimmed">
              {label}
            </Text>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
          </div>
        ))}
      </Group>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          Member id
        </Text>
        <Id value={member.id} />
      </Group>
    </Panel>
  )
}
