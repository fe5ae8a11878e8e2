// Run by browsers, on the sign-in page.
const button = document.getElementById('passkey')
const problem = document.getElementById('passkey-problem')
const headers = { 'content-type': 'application/json' }

async function post(path, body) {
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const content = await response.json()
  if (!response.ok) throw Object.assign(new Error('refused'), { problem: content.problem })
  return content
}

async function signIn() {
  problem.hidden = true
  // A second request would end the first one.
  button.disabled = true
  try {
    const options = await post('signin/passkey/options', {})
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    const credential = await navigator.credentials.get({ publicKey })
    const { location } = await post('signin/passkey', credential.toJSON())
    window.location.assign(location)
  } catch (error) {
    problem.textContent = describe(error)
    problem.hidden = false
  } finally {
    button.disabled = false
  }
}

/** Without a `problem`, the reply is not one of the sign-in page: an error of the server or a proxy, or no reply. */
function describe(error) {
  if (error.name === 'NotAllowedError') return 'No passkey was chosen.'
  return error.problem ?? 'The server did not reply as expected. Try again.'
}

if (window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON) {
  button.hidden = false
  button.addEventListener('click', signIn)
}
