const { origin, response } = JSON.parse(document.getElementById('message').textContent);
const receiver = window.opener ?? (window.parent === window ? null : window.parent);
receiver?.postMessage({ type: 'authorization_response', response }, origin);
