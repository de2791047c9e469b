// The token of the view, without which it answers nothing. It comes with the address; this tab keeps it, and gives it to other tabs of the
// same view. Not in a cookie: a browser sends that to every server on this machine, whatever its port.

const NAME = `flumelog-token ${window.location.pathname}`
/** Milliseconds for other tabs to answer. */
const PATIENCE = 300

let token = null
findToken()

const tabs = new window.BroadcastChannel(NAME)
tabs.addEventListener('message', ({ data }) => {
  if (data === 'wanted' && token !== null) tabs.postMessage({ token })
})

/** @returns {Record<string, string>} for each request */
export const tokenHeaders = () => token === null ? {} : { 'flumelog-token': token }

/** @returns {{ token: string } | {}} for the address of a download: a link cannot have headers */
export const tokenParameter = () => token === null ? {} : { token }

/** @returns {Promise<boolean>} whether another tab has given another token */
export function askTabs () {
  return new Promise(resolve => {
    const done = (isGiven) => {
      tabs.removeEventListener('message', given)
      resolve(isGiven)
    }
    const given = ({ data }) => {
      if (data?.token === undefined || data.token === token) return
      keep(data.token)
      done(true)
    }
    tabs.addEventListener('message', given)
    tabs.postMessage('wanted')
    window.setTimeout(() => done(false), PATIENCE)
  })
}

function keep (given) {
  token = given
  try {
    window.sessionStorage.setItem(NAME, given)
  } catch {} // storage may be forbidden
}

/** Takes it out of the address, which may be passed on. */
function findToken () {
  const { searchParams, pathname, hash } = new URL(window.location.href)
  const given = searchParams.get('token')
  if (given !== null) {
    window.history.replaceState(null, '', pathname + hash)
    keep(given)
    return
  }
  try {
    token = window.sessionStorage.getItem(NAME)
  } catch {}
}
